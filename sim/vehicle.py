# pyright: reportAttributeAccessIssue=false
"""The spacecraft assembled in Basilisk: dynamics, environment, sensors, flight software, power.

One `Vehicle` is one simulation with one thread of its own. It is built for one episode and thrown away:
re-initialising would keep the sensors' walk state. Thrusters, tank, gravity and control are Basilisk's;
instruments and onboard software that it lacks are the kernels beside it.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from Basilisk.architecture import bskLogging, messaging
from Basilisk.fswAlgorithms import (
    attTrackingError,
    mrpFeedback,
    sunSafePoint,
    thrFiringSchmitt,
    thrForceMapping,
)
from Basilisk.simulation import (
    GravityGradientEffector,
    MtbEffector,
    dragDynamicEffector,
    eclipse,
    exponentialAtmosphere,
    fuelTank,
    gravityEffector,
    groundLocation,
    magneticFieldCenteredDipole,
    planetEphemeris,
    radiationPressure,
    simpleBattery,
    simpleInstrument,
    simplePowerSink,
    simpleSolarPanel,
    simpleStorageUnit,
    spacecraft,
    spaceToGroundTransmitter,
    thrusterDynamicEffector,
)
from Basilisk.utilities import SimulationBaseClass

from orbital_ops_env.sim import kernels
from orbital_ops_env.sim.constants import (
    ASTRONOMICAL_UNIT_M,
    EARTH_RADIUS_M,
    EARTH_RATE_RAD_S,
    MU_EARTH,
)
from orbital_ops_env.sim.damage import inflict
from orbital_ops_env.sim.faults import Fault, ThrusterFault, on_branch
from orbital_ops_env.sim.frames import Vec3, dcm_from_mrp, ep_from_mrp, ep_of_rotation, ep_product
from orbital_ops_env.sim.state import PANEL_B, Site, SpacecraftConfig, Start
from orbital_ops_env.sim.variation import Variation

SECOND_NS = 1_000_000_000
DIPOLE_FIELD_NT = (-29404.8, -1450.9, 4652.5)
"""[nT] g10, g11, h11 of the centred dipole. Source: IGRF-13, 2020."""
BODY, CONTROL = 2, 1
"""[-] process priorities: a run stops between the two, so that no valve outlasts its command."""
SPIN_RATE_RAD_S = math.radians(0.5)
"""[rad/s] safe mode's turn about the Sun line."""


def _quiet() -> None:
    bskLogging.setDefaultLogLevel(bskLogging.BSK_ERROR)


class Vehicle:
    """A spacecraft in orbit that can be advanced in time.

    Args:
        start: The craft at mission time 0.
        variation: What differs between the episodes of a mission.
        craft: Parameters of the craft.
        faults: What breaks, and when.
        stations: Places on the ground that receive what the radio sends, by name.
    """

    def __init__(
        self,
        start: Start,
        variation: Variation,
        craft: SpacecraftConfig,
        faults: Sequence[Fault] = (),
        stations: Mapping[str, Site] | None = None,
    ) -> None:
        _quiet()
        self.craft = craft
        self.dt = craft.thrusters.step_s
        self._sim: Any = SimulationBaseClass.SimBaseClass()
        self._tasks(
            BODY,
            environment=1.0,
            dynamics=self.dt,
            instruments=craft.thrusters.control_s,
            navigation=self.dt,
            record=1.0,
        )
        self._tasks(CONTROL, control=craft.thrusters.control_s)
        self._bodies(start)
        self._hub(start)
        self._propulsion(start)
        self._disturbances(variation)
        self._instruments(start, variation)
        self._flight_software(start)
        self._payload(start, stations or {})
        self._power(variation)
        self._recorder(variation)
        self.changes: list[tuple[float, Callable[[], None]]] = []
        """[s] Mission times, in order, and what changes then."""
        self._struck: dict[ThrusterFault, ThrusterFault] = {}
        """Faults of thrusters as they began, by what they were to be."""
        self.kept: tuple[Any, ...] = ()
        """Modules that nothing else refers to."""
        for fault in sorted(faults, key=lambda fault: fault.onset_s):
            inflict(fault, self)
        self._sim.InitializeSimulation()
        self._ring = self.recorder.memory.rows

    def struck(self, fault: ThrusterFault) -> ThrusterFault:
        """Let a fault begin now, on the branch that is selected."""
        self._struck[fault] = on_branch(fault, int(self.valves.memory.branch))
        return self._struck[fault]

    def as_struck(self, fault: Fault) -> Fault:
        """A fault as it began, or as it would begin now."""
        if not isinstance(fault, ThrusterFault):
            return fault
        return self._struck.get(fault) or on_branch(fault, int(self.valves.memory.branch))

    def advance(self, t: float) -> np.ndarray:
        """Run to a whole second; the control step at that time belongs to what is commanded then.

        Args:
            t: [s] mission time.

        Returns:
            (n, ROW_SIZE) The recorder's rows since the last call (`kernels.ROW`), one a second.

        Raises:
            RuntimeError: The simulation or a kernel did not follow; the vehicle must be discarded.
            ValueError: The rows are more than `kernels.RING_SIZE`, so the first are lost.
        """
        nanos, expected, first = round(t * SECOND_NS), round(t / self.dt) + 1, self.recorder.memory.count
        while self.changes and self.changes[0][0] <= t:
            onset_s, change = self.changes.pop(0)
            self._sim.TotalSim.StepUntilStop(round(onset_s * SECOND_NS), BODY)
            change()
        self._sim.TotalSim.StepUntilStop(nanos, BODY)
        reached, updates = self._sim.TotalSim.CurrentNanos, self.estimator.memory.count
        if reached != nanos or updates != expected:
            raise RuntimeError(
                f"the simulation stands at {reached} ns after {updates} estimator updates, "
                f"expected {nanos} ns and {expected}: build a new plant"
            )
        recorded = self.recorder.memory.count
        if recorded - first > kernels.RING_SIZE:
            raise ValueError(f"{recorded - first} rows at once, expected at most {kernels.RING_SIZE}")
        return self._ring[np.arange(first, recorded) % kernels.RING_SIZE]

    def guide_by(self, sun_safe: bool) -> None:
        """Steer by the Sun sensors (safe mode) or by the reference attitude."""
        if sun_safe is not self._sun_safe:
            source = self.sun_safe.attGuidanceOutMsg if sun_safe else self.tracking_error.attGuidOutMsg
            self.feedback.guidInMsg.subscribeTo(source)
            self._sun_safe = sun_safe

    # -- assembly, in the order of the signal flow ---------------------------------------------

    def _tasks(self, process_priority: int, **periods: float) -> None:
        process = self._sim.CreateNewProcess(f"process_{process_priority}", process_priority)
        for priority, (name, period) in zip(range(10 * len(periods), 0, -10), periods.items(), strict=True):
            process.addTask(self._sim.CreateNewTask(name, round(period * SECOND_NS)), priority)

    def add(self, task: str, modules: Iterable[Any]) -> None:
        """Let modules run with a task, after those that it has."""
        for module in modules:
            self._sim.AddModelToTask(task, module)

    def _bodies(self, start: Start) -> None:
        self.sun_hat_N = start.orbit.sun_hat_N
        sun = messaging.SpicePlanetStateMsgPayload()
        sun.PositionVector = ASTRONOMICAL_UNIT_M * self.sun_hat_N
        sun.PlanetName = "sun"
        self._sun_msg = messaging.SpicePlanetStateMsg().write(sun)
        earth = messaging.SpicePlanetStateMsgPayload()
        earth.PlanetName = "earth"
        earth.J20002Pfix = np.eye(3)
        self._earth_msg = messaging.SpicePlanetStateMsg().write(earth)
        self._gravity = gravityEffector.GravBodyData()
        self._gravity.planetName = "earth_planet_data"
        self._gravity.mu = MU_EARTH
        self._gravity.radEquator = EARTH_RADIUS_M
        self._gravity.isCentralBody = True

    def _hub(self, start: Start) -> None:
        self.hub = spacecraft.Spacecraft()
        self.hub.ModelTag = "craft"
        self.hub.hub.mHub = self.craft.mass_kg
        self.hub.hub.r_BcB_B = np.zeros(3)
        self.hub.hub.IHubPntBc_B = np.diag(self.craft.inertia_kg_m2)
        r, v = start.orbit.state(0.0)
        self.hub.hub.r_CN_NInit = r
        self.hub.hub.v_CN_NInit = v
        self.hub.hub.sigma_BNInit = np.array(start.sigma_BN)
        self.hub.hub.omega_BN_BInit = np.array(start.omega_BN_B)
        self.hub.gravField.gravBodies = spacecraft.GravBodyVector([self._gravity])
        gradient = GravityGradientEffector.GravityGradientEffector()
        gradient.addPlanetName(self._gravity.planetName)
        self.hub.addDynamicEffector(gradient)
        self._gradient = gradient

    def _propulsion(self, start: Start) -> None:
        jets, tank = self.craft.thrusters, self.craft.tank
        self.thrusters = thrusterDynamicEffector.ThrusterDynamicEffector()
        self.thrusters.ModelTag = "thrusters"
        for mirror in (1.0, -1.0):
            for position, direction in zip(jets.positions_m, jets.directions, strict=True):
                self.thrusters.addThruster(
                    self._jet(mirror * np.array(position), mirror * np.array(direction))
                )
        self.tank = fuelTank.FuelTank()
        model = fuelTank.FuelTankModelConstantVolume()
        model.propMassInit = start.propellant_kg + tank.unusable_kg
        model.radiusTankInit = (0.75 * tank.volume_m3 / math.pi) ** (1 / 3)
        model.r_TcT_TInit = np.zeros(3)
        self._tank_model = model
        self.tank.setTankModel(model)
        self.tank.setR_TB_B(np.zeros(3))
        self.tank.setNameOfMassState("tank_mass")
        self.tank.addThrusterSet(self.thrusters)
        self.hub.addStateEffector(self.tank)
        self.hub.addDynamicEffector(self.thrusters)
        self.add("dynamics", (self.thrusters, self.hub, self.tank))

    def _jet(self, position: Vec3, direction: Vec3) -> Any:
        jet = thrusterDynamicEffector.THRSimConfig()
        jet.thrLoc_B = position
        jet.thrDir_B = direction
        jet.MaxThrust = self.craft.thrusters.thrust_n
        jet.steadyIsp = self.craft.thrusters.isp_s
        jet.MinOnTime = 0.0
        jet.cutoffFrequency = 1.0
        jet.areaNozzle = 0.0
        return jet

    def _disturbances(self, variation: Variation) -> None:
        around = self.craft.environment
        air = exponentialAtmosphere.ExponentialAtmosphere()
        air.planetRadius = EARTH_RADIUS_M
        air.scaleHeight = around.scale_height_m
        at_500_km = around.density_kg_m3 * variation.density_ratio
        air.baseDensity = at_500_km * math.exp(500e3 / around.scale_height_m)
        air.addSpacecraftToModel(self.hub.scStateOutMsg)
        field = magneticFieldCenteredDipole.MagneticFieldCenteredDipole()
        field.planetRadius = EARTH_RADIUS_M
        field.g10, field.g11, field.h11 = (nt * 1e-9 for nt in DIPOLE_FIELD_NT)
        field.addSpacecraftToModel(self.hub.scStateOutMsg)
        shadow = eclipse.Eclipse()
        shadow.sunInMsg.subscribeTo(self._sun_msg)
        shadow.addPlanetToModel(self._earth_msg)
        shadow.addSpacecraftToModel(self.hub.scStateOutMsg)
        self.eclipse_msg = shadow.eclipseOutMsgs[0]
        drag = dragDynamicEffector.DragDynamicEffector()
        drag.coreParams.projectedArea = around.drag_area_m2
        drag.coreParams.dragCoeff = around.drag_coefficient
        drag.coreParams.comOffset = around.drag_offset_m * variation.drag_direction
        drag.atmoDensInMsg.subscribeTo(air.envOutMsgs[0])
        light = radiationPressure.RadiationPressure()
        light.setUseCannonballModel()
        light.area = around.solar_area_m2
        light.coefficientReflection = around.reflection
        light.sunEphmInMsg.subscribeTo(self._sun_msg)
        light.sunEclipseInMsg.subscribeTo(self.eclipse_msg)
        magnet = self._magnet(variation.dipole_a_m2, field.envOutMsgs[0])
        for effector in (drag, light, magnet):
            self.hub.addDynamicEffector(effector)
        self.add("environment", (air, field, shadow))
        self.add("dynamics", (drag, light, magnet))

    def _magnet(self, dipole_a_m2: Vec3, field_msg: Any) -> Any:
        """The residual dipole, as torque bars that are never switched."""
        bars = messaging.MTBArrayConfigMsgPayload()
        bars.numMTB = 3
        bars.GtMatrix_B = np.eye(3).flatten().tolist()
        bars.maxMtbDipoles = [10.0] * 3
        dipoles = messaging.MTBCmdMsgPayload()
        dipoles.mtbDipoleCmds = list(dipole_a_m2)
        self._bars_msg = messaging.MTBArrayConfigMsg().write(bars)
        self._dipoles_msg = messaging.MTBCmdMsg().write(dipoles)
        magnet = MtbEffector.MtbEffector()
        magnet.mtbCmdInMsg.subscribeTo(self._dipoles_msg)
        magnet.mtbParamsInMsg.subscribeTo(self._bars_msg)
        magnet.magInMsg.subscribeTo(field_msg)
        return magnet

    def _instruments(self, start: Start, variation: Variation) -> None:
        sensors = self.craft.sensors
        gyro_seed, tracker_seed, sun_seed = variation.sensor_seeds
        self.gyro = kernels.Gyro(gyro_seed, sensors.gyro_noise_rad_s, variation.gyro_bias_rad_s)
        self.tracker = kernels.StarTracker(
            tracker_seed,
            sensors.tracker_noise_rad,
            sensors.tracker_rate_rad_s,
            sensors.tracker_sun_rad,
            sensors.tracker_nadir_rad,
            self.sun_hat_N,
        )
        self.sun_sensors = kernels.SunSensors(sun_seed, sensors.sun_noise_rad, self.sun_hat_N)
        attitude = ep_product(
            ep_of_rotation(variation.attitude_error_rad), ep_from_mrp(np.array(start.sigma_BN))
        )
        self.estimator = kernels.Estimator(attitude, self.sun_hat_N, self.dt)
        for instrument in (self.gyro, self.tracker, self.sun_sensors):
            instrument.stateInMsg.subscribeTo(self.hub.scStateOutMsg)
        self.tracker.eclipseInMsg.subscribeTo(self.eclipse_msg)
        self.sun_sensors.eclipseInMsg.subscribeTo(self.eclipse_msg)
        self.estimator.imuInMsg.subscribeTo(self.gyro.imuOutMsg)
        self.estimator.stInMsg.subscribeTo(self.tracker.stOutMsg)
        self.estimator.sunInMsg.subscribeTo(self.sun_sensors.sunOutMsg)
        self.add("instruments", (self.tracker, self.sun_sensors))
        self.add("navigation", (self.gyro, self.estimator))

    def _flight_software(self, start: Start) -> None:
        jets = self.craft.thrusters
        body = messaging.VehicleConfigMsgPayload()
        body.ISCPntB_B = np.diag(self.craft.inertia_kg_m2).flatten().tolist()
        body.massSC = self.craft.mass_kg
        self._body_msg = messaging.VehicleConfigMsg().write(body)
        self._layout_msg = self._layout()
        self.guidance = kernels.Guidance(self.sun_hat_N)
        self.guidance.memory.frame = dcm_from_mrp(np.array(start.sigma_BN))
        self.guidance.stateInMsg.subscribeTo(self.hub.scStateOutMsg)
        self.tracking_error = attTrackingError.attTrackingError()
        self.tracking_error.attNavInMsg.subscribeTo(self.estimator.navOutMsg)
        self.tracking_error.attRefInMsg.subscribeTo(self.guidance.refOutMsg)
        self.sun_safe = sunSafePoint.sunSafePoint()
        self.sun_safe.sunDirectionInMsg.subscribeTo(self.estimator.navOutMsg)
        self.sun_safe.imuInMsg.subscribeTo(self.estimator.navOutMsg)
        self.sun_safe.minUnitMag = 0.5
        self.sun_safe.smallAngle = math.radians(0.1)
        self.sun_safe.sHatBdyCmd = PANEL_B.tolist()
        self.sun_safe.omega_RN_B = (SPIN_RATE_RAD_S * PANEL_B).tolist()
        self.sun_safe.sunAxisSpinRate = SPIN_RATE_RAD_S
        self.feedback = mrpFeedback.mrpFeedback()
        self.feedback.Ki = -1.0
        self.feedback.vehConfigInMsg.subscribeTo(self._body_msg)
        self.feedback.guidInMsg.subscribeTo(self.tracking_error.attGuidOutMsg)
        self._sun_safe = False
        self.mapping = thrForceMapping.thrForceMapping()
        self.mapping.controlAxes_B = np.eye(3).flatten().tolist()
        self.mapping.thrForceSign = 1
        self.mapping.use2ndLoop = 1
        self.mapping.cmdTorqueInMsg.subscribeTo(self.feedback.cmdTorqueOutMsg)
        self.mapping.vehConfigInMsg.subscribeTo(self._body_msg)
        self.mapping.thrConfigInMsg.subscribeTo(self._layout_msg)
        self.firing = thrFiringSchmitt.thrFiringSchmitt()
        self.firing.thrMinFireTime = self.dt
        self.firing.level_on, self.firing.level_off = jets.schmitt_on, jets.schmitt_off
        self.firing.thrConfInMsg.subscribeTo(self._layout_msg)
        self.firing.thrForceInMsg.subscribeTo(self.mapping.thrForceCmdOutMsg)
        self.valves = kernels.ValveDriver(
            self.dt,
            self.craft.tank.unusable_kg,
            jets.torque_n_m,
            np.array(self.craft.inertia_kg_m2),
        )
        self.valves.requestInMsg.subscribeTo(self.firing.onTimeOutMsg)
        self.valves.tankInMsg.subscribeTo(self.tank.fuelTankOutMsg)
        self.valves.imuInMsg.subscribeTo(self.gyro.imuOutMsg)
        self.thrusters.cmdsInMsg.subscribeTo(self.valves.valveOutMsg)
        chain = (
            self.guidance,
            self.tracking_error,
            self.sun_safe,
            self.feedback,
            self.mapping,
            self.firing,
            self.valves,
        )
        self.add("control", chain)

    def _layout(self) -> Any:
        """Branch A as the control chain sees it; the valve driver maps the channels to a branch."""
        jets = self.craft.thrusters
        layout = messaging.THRArrayConfigMsgPayload()
        layout.numThrusters = len(jets.positions_m)
        pairs = zip(jets.positions_m, jets.directions, strict=True)
        for number, (position, direction) in enumerate(pairs):
            channel = messaging.THRConfigMsgPayload()
            channel.rThrust_B = list(position)
            channel.tHatThrust_B = list(direction)
            channel.maxThrust = jets.thrust_n
            messaging.ThrustConfigArray_setitem(layout.thrusters, number, channel)
        return messaging.THRArrayConfigMsg().write(layout)

    def _payload(self, start: Start, stations: Mapping[str, Site]) -> None:
        """Imager, storage and radio, and the stations on the turning Earth."""
        payload = self.craft.payload
        self.payload = kernels.PayloadDriver(payload)
        self.payload.guidInMsg.subscribeTo(self.tracking_error.attGuidOutMsg)
        self.imager = simpleInstrument.SimpleInstrument()
        self.imager.nodeBaudRate = payload.image_bit / payload.exposure_s
        self.imager.nodeDataName = "images"
        self.imager.nodeStatusInMsg.subscribeTo(self.payload.imagerOutMsg)
        self.radio = spaceToGroundTransmitter.SpaceToGroundTransmitter()
        self.radio.nodeBaudRate = -payload.downlink_bit_s
        self.radio.packetSize = -1.0
        self.radio.numBuffers = 1
        self.radio.nodeStatusInMsg.subscribeTo(self.payload.radioOutMsg)
        self.storage = simpleStorageUnit.SimpleStorageUnit()
        self.storage.storageCapacity = round(payload.storage_bit)
        self.storage.addDataNodeToModel(self.imager.nodeDataOutMsg)
        self.storage.addDataNodeToModel(self.radio.nodeDataOutMsg)
        self.radio.addStorageUnitToTransmitter(self.storage.storageUnitDataOutMsg)
        self._turning_earth = self._earth_rotation(start)
        self.stations = {name: self._station(site) for name, site in stations.items()}
        ground = (self._turning_earth, *self.stations.values()) if stations else ()
        self.add("environment", (*ground, self.payload, self.imager, self.radio, self.storage))

    def _earth_rotation(self, start: Start) -> Any:
        """The Earth in the origin, turning; what the orbit of its elements is does not matter then."""
        earth = planetEphemeris.PlanetEphemeris()
        earth.setPlanetNames(planetEphemeris.StringVector(["earth"]))
        elements = planetEphemeris.ClassicElements()
        elements.a = ASTRONOMICAL_UNIT_M
        earth.planetElements = planetEphemeris.classicElementVector([elements])
        earth.zeroBase = "earth"
        earth.rightAscension = planetEphemeris.DoubleVector([0.0])
        earth.declination = planetEphemeris.DoubleVector([math.pi / 2])
        earth.lst0 = planetEphemeris.DoubleVector([start.orbit.sidereal_rad])
        earth.rotRate = planetEphemeris.DoubleVector([EARTH_RATE_RAD_S])
        return earth

    def _station(self, site: Site) -> Any:
        station = groundLocation.GroundLocation()
        station.planetRadius = EARTH_RADIUS_M
        station.specifyLocation(site.latitude_rad, site.longitude_rad, 0.0)
        station.minimumElevation = self.craft.payload.mask_rad
        station.maximumRange = -1.0
        station.planetInMsg.subscribeTo(self._turning_earth.planetOutMsgs[0])
        station.addSpacecraftToModel(self.hub.scStateOutMsg)
        self.radio.addAccessMsgToTransmitter(station.accessOutMsgs[0])
        return station

    def _power(self, variation: Variation) -> None:
        power = self.craft.power
        panel = simpleSolarPanel.SimpleSolarPanel()
        panel.setPanelParameters(PANEL_B, power.panel_area_m2, power.panel_efficiency)
        panel.sunInMsg.subscribeTo(self._sun_msg)
        panel.stateInMsg.subscribeTo(self.hub.scStateOutMsg)
        panel.sunEclipseInMsg.subscribeTo(self.eclipse_msg)
        bus = simplePowerSink.SimplePowerSink()
        bus.nodePowerOut = -power.bus_w
        battery = simpleBattery.SimpleBattery()
        battery.storageCapacity = power.battery_j
        battery.storedCharge_Init = power.battery_j * variation.battery_fraction
        battery.addPowerNodeToModel(panel.nodePowerOutMsg)
        loads = [bus]
        for status, watt in (
            (self.payload.imagerPowerOutMsg, self.craft.payload.imager_w),
            (self.payload.radioPowerOutMsg, self.craft.payload.radio_w),
        ):
            load = simplePowerSink.SimplePowerSink()
            load.nodePowerOut = -watt
            load.nodeStatusInMsg.subscribeTo(status)
            loads.append(load)
        for load in loads:
            battery.addPowerNodeToModel(load.nodePowerOutMsg)
        self.panel, self.battery, self._loads = panel, battery, loads
        self.add("environment", (panel, *loads, battery))

    def _recorder(self, variation: Variation) -> None:
        self.recorder = kernels.Recorder(
            self.craft.tank, self.craft.sensors, variation.temperature_k, self.sun_hat_N
        )
        self.recorder.stateInMsg.subscribeTo(self.hub.scStateOutMsg)
        self.recorder.navInMsg.subscribeTo(self.estimator.navOutMsg)
        self.recorder.guidInMsg.subscribeTo(self.tracking_error.attGuidOutMsg)
        self.recorder.tankInMsg.subscribeTo(self.tank.fuelTankOutMsg)
        self.recorder.bookInMsg.subscribeTo(self.valves.bookOutMsg)
        self.recorder.batteryInMsg.subscribeTo(self.battery.batPowerOutMsg)
        self.recorder.panelInMsg.subscribeTo(self.panel.nodePowerOutMsg)
        self.recorder.eclipseInMsg.subscribeTo(self.eclipse_msg)
        self.recorder.stInMsg.subscribeTo(self.tracker.stOutMsg)
        self.recorder.imagerInMsg.subscribeTo(self.imager.nodeDataOutMsg)
        self.recorder.radioInMsg.subscribeTo(self.radio.nodeDataOutMsg)
        self.add("record", (self.recorder,))
