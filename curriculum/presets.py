"""How a run chooses its missions: four ways to set the curriculum, and every number in it.

`eva` and `eva_literal` follow the creator of Ye et al. (2025), Reward-Guided Prompt Evolving in Reinforcement
Learning for LLMs (ICML); `docs/eva.md` has the paper's numbers beside ours.
"""

from typing import Annotated, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from orbital_ops_env.curriculum.certificate import Bar

Share = Annotated[float, Field(ge=0, le=1)]
"""[-] a part of the whole."""
Count = Annotated[int, Field(ge=1, le=1024)]
Level = Annotated[int, Field(ge=0, le=9)]
Informativeness = Literal["gap", "max_mean", "success"]
"""What tells how much a mission teaches: greatest less least return of its group, greatest less mean return,
or the latter of the success bit."""


class Preset(BaseModel):
    """A curriculum."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["uniform", "ladder", "evolve"]
    """Missions of all levels, of the level that the run is on, or evolved from what it learns most from."""
    members: Annotated[int, Field(ge=2, le=1024)] = 8
    """[-] episodes of a mission in a group."""

    unlock_above: Share = 0.30
    """[-] mean return of a level's window over which a ladder climbs,"""
    ease_below: Share = 0.10
    """[-] and under which it goes down."""
    window: Count = 16
    """[-] groups that a ladder looks back on."""

    missions: Count = 128
    """[-] in a generation."""
    first_levels: Annotated[tuple[Level, ...], Field(min_length=1)] = (0, 1, 2, 3)
    """Levels of the first generation, which is drawn from the families' tables."""
    informativeness: Informativeness = "success"
    sampled: Share = 0.5
    """[-] share of a generation that is evolved, drawn by informativeness,"""
    edits: Count = 2
    """[-] edits in a row of each of them, all of which are kept."""
    tries: Count = 4
    """[-] edits drawn until one is admitted."""
    evolved: Share = 0.8
    """[-] share of the next generation that is evolved; the rest is of the one before."""
    harden: Share = 0.9
    """[-] share of edits that make a mission harder; where nobody succeeds, all make it easier."""
    brakes: bool = True
    """Whether missions that nobody succeeds on are eased, and whether lineages and families have quotas."""
    mixed_least: Share = 0.1
    """[-] share of groups with both successes and failures under which any mission may be evolved."""
    certified: bool = True
    """Whether an edited mission must have a certificate,"""
    certificate_seeds: Count = 8
    """[-] episode seeds that the reference controller flies for it,"""
    certificate_needed: Count = 7
    """[-] and on how many of them it must succeed."""
    family_least: Share = 0.1
    """[-] share of a generation that each family has at least,"""
    lineage_most: Share = 0.15
    """[-] and that the offspring of one first mission has at most, as long as there is other."""
    reported: Share = 0.9
    """[-] share of a generation's groups that must be whole before the next one is made."""
    repeated: Share = 0.25
    """[-] share of a generation that is flown again until there is the next one."""

    @property
    def bar(self) -> Bar:
        """For the certificate of a mission."""
        return Bar(self.certificate_needed, self.certificate_seeds)

    @model_validator(mode="after")
    def _bar_can_be_met(self) -> Self:
        Bar(self.certificate_needed, self.certificate_seeds)
        return self

    @model_validator(mode="after")
    def _children_cover_the_evolved_share(self) -> Self:
        if self.sampled * self.edits < self.evolved:
            raise ValueError(
                f"{self.sampled:g} of a generation evolved {self.edits} times: "
                f"expected at least `evolved`, {self.evolved:g} of it"
            )
        return self


PRESETS: Final = {
    "uniform": Preset(kind="uniform"),
    "ladder030": Preset(kind="ladder"),
    "eva_literal": Preset(
        kind="evolve",
        members=6,
        informativeness="gap",
        sampled=0.25,
        edits=4,
        harden=1.0,
        brakes=False,
        certified=False,
    ),
    "eva": Preset(kind="evolve"),
}
