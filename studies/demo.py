"""A real mission over the wire: server, two flight controllers, their scores and a replay page.

Something breaks on the way and nobody says so. `reference` cross-checks the instruments and should win,
`rules` follows the written procedure and should lose; the exit status is 0 only if they do. What early waste
does to a long mission:

    make demo ARGS='--family mission-ops-v0 --level 9 --seed 0 --against wasteful'
"""

import argparse
import sys
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, cast

from openenv.core import SyncEnvClient
from rich.bar import Bar
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.panel import Panel
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from orbital_ops_env.client import (
    OrbitalOpsAction,
    OrbitalOpsEnv,
    OrbitalOpsObservation,
    OrbitalOpsState,
    PolicyView,
    view,
)
from orbital_ops_env.commands import AnyCommand
from orbital_ops_env.missions.catalog import generate
from orbital_ops_env.missions.mission import MissionSpec
from orbital_ops_env.policies import Policy
from orbital_ops_env.policies.reference import Reference
from orbital_ops_env.policies.rules import Rules
from orbital_ops_env.policies.wasteful import Wasteful
from orbital_ops_env.server import flight
from orbital_ops_env.studies import replay
from orbital_ops_env.studies.record import Record, record
from orbital_ops_env.studies.words import brief, label, verdict
from orbital_ops_env.training.server import ServerError, local_server

DEMO_FAMILY, DEMO_LEVEL, DEMO_SEED = "recovery-v0", 4, 31
"""Two targets, and a thruster that sticks closed on the way."""
POLICIES: Final[dict[str, type[Policy]]] = {"reference": Reference, "rules": Rules, "wasteful": Wasteful}
OUTPUT: Final = Path("outputs/replay.html")
TOLERANCE: Final = 1e-9
"""[-] between a score on the wire and the same flight in process."""
HEADS: Final = ("#", "command", "ended by", "time", "next", "error", "rate", "gas")
BAR_WIDTH: Final = 8
TERMS: Final = {"reward/overall": "return", "reward/primary": "objective"}
"""Components whose name on the wire is not the reward table's."""
Session = SyncEnvClient[OrbitalOpsAction, OrbitalOpsObservation, OrbitalOpsState]


class DemoError(RuntimeError):
    """The demo cannot go on; the message says why."""


@dataclass
class Flown:
    """What the wire told of an episode."""

    name: str
    views: list[PolicyView]
    commands: list[AnyCommand] = field(default_factory=list[AnyCommand])
    return_: float = 0.0
    """[-] sum of the step rewards."""
    components: dict[str, float] = field(default_factory=dict[str, float])
    outcome: str = "ongoing"
    rationales: list[str] = field(default_factory=list[str])
    """Why the policy sent each command; the wire does not carry it."""


# -- flight ------------------------------------------------------------------------------------


def fly(address: str, spec: MissionSpec, episode_seed: int, name: str, live: Live) -> Flown:
    """Fly a mission over the wire with the policy of a name, showing it turn by turn."""
    policy = POLICIES[name]()
    mission = {"family": spec.family, "level": spec.level, "seed": spec.seed}
    with cast(Session, OrbitalOpsEnv(address).sync()) as env:  # pyright: ignore
        result = env.reset(**mission, episode_seed=episode_seed)
        flown = Flown(name, [view(result.observation)])
        policy.begin(spec.seed)
        while flown.outcome == "ongoing":
            flown.commands.append(policy.act(flown.views[-1]))
            flown.rationales.append(policy.rationale)
            live.update(board(spec, flown))
            result = env.step(OrbitalOpsAction(command=flown.commands[-1]))
            seen = result.observation
            flown.views.append(view(seen, flown.views[-1]))
            flown.return_ += result.reward or 0.0
            flown.outcome, flown.components = seen.outcome, seen.components
            live.update(board(spec, flown))
    return flown


def board(spec: MissionSpec, flown: Flown) -> RenderableType:
    """An episode so far: brief, then a line for each turn."""
    table = Table(*HEADS, box=None, header_style="bold", padding=(0, 1, 0, 0))
    for turn, command in enumerate(flown.commands, start=1):
        seen = flown.views[turn] if turn < len(flown.views) else None
        table.add_row(str(turn), label(command), *_cells(spec, seen))
    colour = {"ongoing": "blue", "succeeded": "green"}.get(flown.outcome, "red")
    title = f"[bold]{flown.name}[/bold] flies {spec}: [bold {colour}]{flown.outcome}[/]"
    return Panel(Group(*brief(spec), "", table), title=title, border_style=colour)


def _cells(spec: MissionSpec, seen: PolicyView | None) -> list[RenderableType]:
    if seen is None:
        return [Spinner("dots", "flying")]
    now, gas = seen.telemetry, Table.grid(padding=(0, 1))
    bar = Bar(seen.brief.propellant_g, 0, now.propellant_g, width=BAR_WIDTH, color="cyan")
    gas.add_row(f"{now.propellant_g:.2f} g", bar)
    total = len(spec.directives)
    directive = f"D{now.directive}/{total}" if now.directive <= total else "done"
    return [
        escape(f"{now.reason} {now.detail}".strip()),
        f"{now.time_s:.0f} s",
        directive,
        "-" if now.error_deg is None else f"{now.error_deg:.1f}°",
        f"{now.rate_deg_s:.2f}°/s",
        gas,
    ]


# -- result ------------------------------------------------------------------------------------


def refly(spec: MissionSpec, episode_seed: int, flown: Flown) -> Record:
    """The same flight in process, with its true history and the policy's own rationales.

    Raises:
        DemoError: It does not score what the wire reported.
    """
    again = flight.replay(spec, flown.commands, episode_seed)
    wire = flown.components | {"sum of rewards": flown.return_}
    here = again.components | {"sum of rewards": again.return_}
    apart = {key: (wire[key], here[key]) for key in here if abs(wire[key] - here[key]) > TOLERANCE}
    if apart or again.outcome != flown.outcome or again.commands != tuple(flown.commands):
        raise DemoError(
            f"{spec} episode_seed={episode_seed}: {flown.name} {flown.outcome} on the wire but "
            f"{again.outcome} in process; (wire, process) apart: {apart or 'nothing else'}"
        )
    return record(flown.name, replace(again, rationales=tuple(flown.rationales)))


def scores(records: list[Record]) -> Table:
    """Outcome and score components side by side."""
    table = Table(title="Score", caption="dim terms count on success only", header_style="bold")
    for head in ("", *(flown.name for flown in records)):
        table.add_column(head, justify="right" if head else "left")
    flights = [flown.flight for flown in records]
    colours = ["green" if f.succeeded else "red" for f in flights]
    outcomes = (f"[{c}]{f.outcome}[/]" for c, f in zip(colours, flights, strict=True))
    table.add_row("outcome", *outcomes, end_section=True)
    for key in flights[0].components:
        name = TERMS.get(key, key.removeprefix("reward/"))
        styles = ("dim" if name in replay.ON_SUCCESS and not f.succeeded else "default" for f in flights)
        values = (f"[{s}]{f.components[key]:.3f}[/]" for s, f in zip(styles, flights, strict=True))
        table.add_row(name, *values, end_section=name == "format")
    table.add_row("turns", *(str(len(f.commands)) for f in flights))
    gas = (f"{f.views[-1].telemetry.propellant_g:.2f}" for f in flights)
    table.add_row("gas at the end, g", *gas)
    return table


def options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="demo", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--family", default=DEMO_FAMILY)
    parser.add_argument("--level", type=int, default=DEMO_LEVEL)
    parser.add_argument("--seed", type=int, default=DEMO_SEED)
    parser.add_argument("--episode-seed", type=int, help="default: the seed")
    parser.add_argument("--against", default="rules", choices=sorted(POLICIES.keys() - {"reference"}))
    parser.add_argument("--output", type=Path, default=OUTPUT, help="default: %(default)s")
    return parser.parse_args()


def show(chosen: argparse.Namespace, console: Console) -> bool:
    """Fly both, print and write everything; whether both ended as they should."""
    spec = generate(chosen.family, chosen.level, chosen.seed)
    seed = chosen.seed if chosen.episode_seed is None else chosen.episode_seed
    flights: list[Flown] = []
    with ExitStack() as stack:
        with console.status("Starting the server; its first start compiles for a minute ..."):
            address = stack.enter_context(local_server())
        for name in ("reference", chosen.against):
            with Live(console=console) as live:
                flights.append(fly(address, spec, seed, name, live))
            console.print()
    with console.status("Flying both again in process for the truth ..."):
        records = [refly(spec, seed, flown) for flown in flights]
        chosen.output.parent.mkdir(parents=True, exist_ok=True)
        chosen.output.write_text(replay.page(records), encoding="utf-8")
    console.print(scores(records))
    for flown in records:
        console.print(Text(f"{flown.name}: {verdict(flown)}"))
    console.print(Text(f"Replay page: {chosen.output} (open it in a browser; it needs no network)"))
    won = {flown.name for flown in records if flown.flight.succeeded}
    return won == {"reference"}


def main() -> int:
    """Run the demo; the exit status."""
    console = Console()
    try:
        if show(options(), console):
            return 0
        console.print("[red]Expected reference to succeed and the other to fail on this mission.[/]")
    except (DemoError, ServerError, ValueError, OSError) as error:
        console.print(Text(f"demo: {error}", style="red"))
    return 1


if __name__ == "__main__":
    sys.exit(main())
