"""Physical constants, SI, each with its source."""

import math
from typing import Final

MU_EARTH: Final = 3.986004415e14
"""[m^3/s^2] gravitational parameter of the Earth. Source: GGM03S gravity model."""
EARTH_RADIUS_M: Final = 6378136.6
"""[m] equatorial radius of the Earth. Source: IAU WGCCRE 2009."""
EARTH_RATE_RAD_S: Final = 7.292115e-5
"""[rad/s] rotation rate of the Earth. Source: WGS 84."""
GEO_RADIUS_M: Final = 42164172.0
"""[m] radius of the geostationary orbit: (MU_EARTH / EARTH_RATE_RAD_S**2)**(1/3)."""
OBLIQUITY_RAD: Final = math.radians(23.4393)
"""[rad] obliquity of the ecliptic at J2000. Source: IAU 2006."""
ASTRONOMICAL_UNIT_M: Final = 1.495978707e11
"""[m] Source: IAU 2012 resolution B2."""
SUN_W_M2: Final = 1361.0
"""[W/m^2] sunlight at an astronomical unit. Source: nominal total irradiance, IAU 2015 resolution B3."""
SUN_RADIUS_M: Final = 6.957e8
"""[m] nominal solar radius. Source: IAU 2015 resolution B3."""
STANDARD_GRAVITY_M_S2: Final = 9.80665
"""[m/s^2] Source: CGPM 1901."""
NITROGEN_GAS_CONSTANT: Final = 296.8
"""[J/kg/K] specific gas constant of N2. Source: NIST, 8.314462 / 0.0280134."""
