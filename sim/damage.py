# pyright: reportAttributeAccessIssue=false
"""What each fault does: to sensors and valves in their kernels, to Basilisk's models at its onset."""

from functools import singledispatch
from typing import TYPE_CHECKING, Any

import numpy as np
from Basilisk.simulation import extForceTorque

from orbital_ops_env.sim import kernels
from orbital_ops_env.sim.faults import (
    GyroBias,
    GyroDrift,
    Leak,
    PanelLoss,
    StuckClosed,
    StuckOpen,
    TrackerOutage,
    WeakThruster,
)
from orbital_ops_env.sim.state import PANEL_B

if TYPE_CHECKING:
    from orbital_ops_env.sim.vehicle import Vehicle


@singledispatch
def inflict(fault: object, vehicle: "Vehicle") -> None:
    """Let a fault begin at its onset, in a vehicle that has not been initialised yet.

    Raises:
        TypeError: It is no fault.
    """
    raise TypeError(f"{fault!r} is not a fault")


@inflict.register(GyroBias)
def _(fault: GyroBias, vehicle: "Vehicle") -> None:
    vehicle.gyro.memory.fault_s = fault.onset_s
    vehicle.gyro.memory.fault_bias = np.array(fault.bias_rad_s)


@inflict.register(GyroDrift)
def _(fault: GyroDrift, vehicle: "Vehicle") -> None:
    vehicle.gyro.memory.drift_s = fault.onset_s
    vehicle.gyro.memory.drift = np.array(fault.drift_rad_s2)


@inflict.register(TrackerOutage)
def _(fault: TrackerOutage, vehicle: "Vehicle") -> None:
    vehicle.tracker.memory.fault_s = fault.onset_s


@inflict.register(StuckClosed)
def _(fault: StuckClosed, vehicle: "Vehicle") -> None:
    def jam() -> None:
        valves = vehicle.valves.memory
        valves.closed_s = _replaced(valves.closed_s, vehicle.struck(fault).unit - 1, fault.onset_s)

    vehicle.changes.append((fault.onset_s, jam))


@inflict.register(StuckOpen)
def _(fault: StuckOpen, vehicle: "Vehicle") -> None:
    def jam() -> None:
        valves = vehicle.valves.memory
        valves.open_s = _replaced(valves.open_s, vehicle.struck(fault).unit - 1, fault.onset_s)

    vehicle.changes.append((fault.onset_s, jam))


@inflict.register(WeakThruster)
def _(fault: WeakThruster, vehicle: "Vehicle") -> None:
    def weaken() -> None:
        jet = vehicle.thrusters.thrusterData[vehicle.struck(fault).unit - 1]
        jet.MaxThrust = fault.share * vehicle.craft.thrusters.thrust_n

    vehicle.changes.append((fault.onset_s, weaken))


@inflict.register(PanelLoss)
def _(fault: PanelLoss, vehicle: "Vehicle") -> None:
    power = vehicle.craft.power

    def dim() -> None:
        left = power.panel_efficiency * fault.share
        vehicle.panel.setPanelParameters(PANEL_B, power.panel_area_m2, left)

    vehicle.changes.append((fault.onset_s, dim))


@inflict.register(Leak)
def _(fault: Leak, vehicle: "Vehicle") -> None:
    hole = kernels.Hole(fault.onset_s, fault.flow_kg_s, np.array(fault.torque_n_m))
    hole.tankInMsg.subscribeTo(vehicle.tank.fuelTankOutMsg)
    vehicle.tank.fuelLeakRateInMsg.subscribeTo(hole.flowOutMsg)
    jet = extForceTorque.ExtForceTorque()
    jet.cmdTorqueInMsg.subscribeTo(hole.torqueOutMsg)
    vehicle.hub.addDynamicEffector(jet)
    vehicle.add("navigation", (hole,))
    vehicle.add("dynamics", (jet,))
    vehicle.kept += (hole, jet)


def _replaced(values: Any, index: int, value: float) -> np.ndarray:
    """A copy with one value replaced: a kernel's memory takes whole arrays only."""
    copy = np.array(values)
    copy[index] = value
    return copy
