"""The console on the framework's web page: what a visitor sees and may click.

Plain words, gauges, estimates, the score after the end; and, to the letter, what a policy reads.
"""

import math
from collections.abc import Iterator
from html import escape
from typing import Any, Final, get_args
from weakref import WeakKeyDictionary

from orbital_ops_env import commands
from orbital_ops_env.client.prompt import SYSTEM_PROMPT
from orbital_ops_env.client.render import PolicyView, render, view
from orbital_ops_env.missions import budget
from orbital_ops_env.missions.catalog import FAMILIES
from orbital_ops_env.models import DirectiveBrief, OrbitalOpsObservation, RuleBrief
from orbital_ops_env.policies.procedure import DEADBAND_DEG, current, hold_s, on_target, quiet_s
from orbital_ops_env.rewards.rubric import Weights
from orbital_ops_env.server.episode import SUN_WARNING_RAD, Episode
from orbital_ops_env.server.observe import brief
from orbital_ops_env.sim.frames import dcm_from_mrp
from orbital_ops_env.sim.state import SpacecraftConfig, target_frame

RULES: Final = {
    "sun_keep_out": "payload at least {0.limit:g} deg from the Sun",
    "keep_out": "payload at least {0.limit:g} deg from {0.target}",
    "reserve": "at least {0.limit:g} g of gas left",
    "battery": "battery at {0.limit:g} % at least",
    "rate_cap": "rate under {0.limit:g} deg/s",
    "quiet": "nothing fires",
}
ROLE: Final = """You are the flight controller of a small satellite on cold-gas thrusters. Send one
command a turn and do the directives in order, each inside its window: the bar; the mark is now."""
END: Final = """The episode is over: press Reset to fly again. Efficiency, safety and format count
only with success, the objective: every directive done in its window and every hard rule kept."""
HELP: Final = f"""A click on a ready-made command sends it; any other goes into the box as JSON.
Reset takes no options on this page and always starts the same mission. For another one, use the
Python client: env.reset(family="retarget-v0", level=4, seed=7); families {", ".join(FAMILIES)};
levels 0 to 9, any seed. All visitors of this page share one craft; every client flies its own."""
STYLE: Final = """<style>
:is(#oo,.gradio-container){max-width:1320px!important}:is(#oo,.oe-fields){display:none!important}
:is(#oo,.row):has(>.column>.oe-card .oo){display:grid!important;grid-template-columns:1fr!important}
:is(#oo,.oe-card):not(:has(.oo)) .oe-result:not(:has(.oe-error)),
:is(#oo,.oe-visual):has(.over)+.column{display:none}
:is(#oo,.oe-visual){flex:3 1 440px!important}:is(#oo,.oe-visual)+.column{flex:2 1 300px!important}
:is(#oo,.oe-actions) .wrap{display:grid!important}.oo .top{border-left:4px solid var(--tone)}
:is(#oo,.oe-actions) .wrap label{font:inherit!important;padding:7px 12px!important}
.oo{display:grid;gap:12px;font-size:14px;--good:#1a7f37;--warn:#9a6700;--bad:#b42318;--line:#e4e4e7}
.dark .oo{--good:#3fb950;--warn:#d8a13a;--bad:#ff8a80;--line:#3f3f46}.oo summary{cursor:pointer}
:is(#oo,.oo) :is(small,span){display:block;font-size:12px;color:var(--body-text-color-subdued)}
.oo section{border:1px solid var(--line);border-radius:10px;padding:12px 14px}
:is(#oo,.oo) :is(p,h3){margin:0 0 5px}:is(#oo,.oo) h3{font-size:15px;color:var(--tone,inherit)}
:is(#oo,.oo) .line{display:grid;grid-template-columns:22px minmax(0,1fr);padding:6px 0}
.oo .bar{position:relative;height:6px;margin:5px 0 3px;border-radius:3px;background:var(--line)}
.oo i{position:absolute;top:0;bottom:0;border-radius:3px;background:var(--tone)}
.oo b{position:absolute;top:-4px;bottom:-4px;width:2px;background:var(--body-text-color)}
.oo .all{display:grid;grid-template-columns:repeat(auto-fill,minmax(150px,1fr));gap:10px 20px}
:is(#oo,.oo) pre{margin:6px 0 0;padding:10px 12px;border-radius:8px;font:13px/1.5 var(--font-mono);
background:var(--background-fill-secondary);white-space:pre-wrap;overflow-wrap:anywhere}</style>"""
"""Lays out the framework's page too: console and commands abreast; `#oo` outranks its own rules."""

_LOGS: Final[WeakKeyDictionary[Episode, dict[int, tuple[PolicyView, str]]]] = WeakKeyDictionary()
"""What a policy has read of a running episode, by turns left: a text depends on the one before."""


def page(episode: Episode, raw: dict[str, Any]) -> str:
    """An observation of an episode, as the framework hands it over, in HTML, all texts escaped."""
    seen, known = _read(episode, raw)
    top, over = (_next(known), "") if seen.outcome == "ongoing" else (_end(seen), "over")
    body = top + _mission(episode, seen, known) + _gauges(known) + _texts(episode, seen, known)
    return f'{STYLE}<div class="oo {over}">{body}<small>{escape(HELP)}</small></div>'


def buttons(episode: Episode, raw: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Ready-made commands that suit the moment, as (label, action); none after the end."""
    if episode.outcome != "ongoing":
        return []
    _, known = _read(episode, raw)
    offers = (*_aimed(episode, known), *_general(known))
    return [(label, {"command": c.model_dump(exclude_none=True)}) for label, c in offers]


def _read(episode: Episode, raw: dict[str, Any]) -> tuple[OrbitalOpsObservation, PolicyView]:
    seen = OrbitalOpsObservation.model_validate(raw)
    return seen, view(seen.model_copy(update={"brief": brief(episode.spec)}))


def _next(known: PolicyView) -> str:
    now, goal = known.telemetry, current(known)
    todo = "On board all is done, but not quite in truth: hold the last target longer."
    if (quiet := quiet_s(known)) > 0:
        todo = f"Nothing may fire for {quiet:.0f} s: coast."
    elif goal and goal.rate_deg_s:
        todo = f"Stop the tumble: detumble to less than {goal.rate_deg_s:g} deg/s."
    elif goal and on_target(known, goal) and goal.kind == "charge":
        todo = f"At the Sun: hold until the battery is at {goal.battery_pct:g} %."
    elif goal and on_target(known, goal) and goal.kind != "point":
        todo = f"On target: {goal.kind}, once the window of D{now.directive} is open."
    elif goal and on_target(known, goal):
        todo = f"On target: hold {goal.target} until D{now.directive} is served."
    elif goal:
        todo = f"Slew to {goal.target}. Slow slews save gas, fast ones save time."
    if now.turns_left < known.brief.turns:
        ended = f"{now.reason.replace('_', ' ')}: {now.detail}".rstrip(": ")
        todo += f" The last command ended: {ended}."
    tone = "warn" if now.reason in ("refused", "alarm", "limit") else "good"
    return _banner("What to do next", todo, tone)


def _end(seen: OrbitalOpsObservation) -> str:
    score = {name.removeprefix("reward/"): value for name, value in seen.components.items()}
    score["objective"] = score["primary"]
    parts = ((f"{n} × {w:.2f}", f"{score[n]:.2f}", score[n]) for n, w in vars(Weights()).items())
    gauges = "".join(_gauge(*part) for part in parts)
    title = f"Episode {seen.outcome.replace('_', ' ')}, return {score['overall']:.2f} of 1"
    return _banner(title, END, "good" if score["objective"] else "bad", gauges)


def _banner(title: str, text: str, tone: str, gauges: str = "") -> str:
    body = f'<h3>{escape(title)}</h3><p>{escape(text)}</p><div class="all">{gauges}</div>'
    return f'<section class="top" style="--tone:var(--{tone})">{body}</section>'


def _mission(episode: Episode, seen: OrbitalOpsObservation, known: PolicyView) -> str:
    """The brief as a card: means, directives with their windows on the clock, rules."""
    told, now, lines = known.brief, known.telemetry, ""
    for number, goal in enumerate(told.directives, start=1):
        done = number < now.directive or seen.outcome == "succeeded"
        sign = "✓" if done else "▶" if number == now.directive else "○"
        opens, closes, at = (t / told.clock_s for t in (goal.opens_s, goal.closes_s, now.time_s))
        text = escape(f"D{number} {_goal(goal)}") + _bar(opens, closes, at)
        lines += f'<div class="line">{sign}<div>{text}</div></div>'
    title = f"Mission {told.family}, level {told.level}, seed {episode.spec.seed}"
    means = f"You have {told.turns} turns, {told.clock_s:g} s and {told.propellant_g:g} g of gas."
    rules = (f"{_rule(r)} ({'hard' if r.hard else 'soft'})" for r in told.rules)
    small = f"Rules: {'; '.join(rules)}. Targets: {', '.join(told.targets)}."
    head = f"<h3>{escape(title)}</h3><p>{escape(f'{ROLE} {means}')}</p>"
    return f"<section>{head}{lines}<small>{escape(small)}</small></section>"


def _rule(rule: RuleBrief) -> str:
    text = RULES[rule.kind].format(rule)
    if rule.until_s is not None:
        return f"{text} from {rule.from_s:.0f} to {rule.until_s:.0f} s"
    return f"{text} from {rule.from_s:.0f} s on" if rule.from_s else text


def _goal(goal: DirectiveBrief) -> str:
    part = "solar panel" if goal.target == "sun" else "payload"
    what = {
        "rate": f"rate under {goal.rate_deg_s} deg/s",
        "charge": f"charge to {goal.battery_pct} % with the solar panel at the Sun",
        "point": f"{part} on {goal.target} within {goal.tolerance_deg} deg",
        "image": f"image {goal.target} within {goal.tolerance_deg} deg",
        "downlink": f"send data to {goal.target} within {goal.tolerance_deg} deg",
    }[goal.kind]
    since = f"between {goal.opens_s:g} and" if goal.opens_s else "by"
    return f"{what} for {goal.dwell_s:g} s, {since} {goal.closes_s:g} s"


def _bar(start: float, end: float, mark: float, tone: str = "good") -> str:
    left, right, at = (100 * min(max(share, 0.0), 1.0) for share in (start, end, mark))
    fill = f'<i style="left:{left:.1f}%;width:{right - left:.1f}%"></i>'
    tick = f'<b style="left:{at:.1f}%"></b>' if mark >= 0 else ""
    return f'<div class="bar" style="--tone:var(--{tone})">{fill}{tick}</div>'


def _gauge(name: str, text: str, share: float, mark: float = -1.0, tone: str = "good") -> str:
    bar = _bar(0, share, mark, tone)
    return f"<div><span>{escape(name)}</span><strong>{escape(text)}</strong>{bar}</div>"


def _under(name: str, value: float, limit: float, unit: str) -> str:
    """A gauge with the limit in its middle."""
    tone = "good" if value <= limit else "bad"
    return _gauge(f"{name}, limit {limit:g}", f"{value:g} {unit}", value / limit / 2, 0.5, tone)


def _gauges(known: PolicyView) -> str:
    now, told, goal = known.telemetry, known.brief, current(known)
    clock, full, gas = told.clock_s, told.propellant_g, now.propellant_g
    closes, reserve = goal.closes_s if goal else clock, _limit(known, "reserve", 0.0)
    alarm = math.degrees(SpacecraftConfig().body_rate_rad_s)
    rate = goal.rate_deg_s if goal and goal.rate_deg_s else _limit(known, "rate_cap", alarm)
    time, left = f"{now.time_s:g} of {clock:g} s", f"{gas:g} of {full:g} g"
    cells = _gauge(f"Time, window to {closes:g} s", time, now.time_s / clock, closes / clock)
    cells += _gauge(f"Gas, reserve {reserve:g} g", left, gas / full, reserve / full)
    cells += _gauge("Turns left", f"{now.turns_left} of {told.turns}", now.turns_left / told.turns)
    cells += _under("Body rate", now.rate_deg_s, rate, "deg/s")
    cells += _gauge("Star tracker", ("blind", "valid")[now.tracker_valid], now.tracker_valid)
    if goal:
        dwell = f"{now.dwell_s:g} of {goal.dwell_s:g} s"
        cells += _gauge(f"D{now.directive} served", dwell, now.dwell_s / goal.dwell_s)
        if goal.tolerance_deg and now.error_deg is not None:
            cells += _under("Pointing error", now.error_deg, goal.tolerance_deg, "deg")
    return f'<section><h3>Gauges</h3><div class="all">{cells}</div></section>'


def _texts(episode: Episode, seen: OrbitalOpsObservation, known: PolicyView) -> str:
    """The text of this observation to the letter, and those before it."""
    log, left = _LOGS.setdefault(episode, {}), known.telemetry.turns_left
    before, _ = log.get(left + 1, (None, ""))
    told = seen if before else seen.model_copy(update={"brief": known.brief})
    log[left] = known, render(told, before)
    earlier = "\n\n".join(log[turn][1] for turn in sorted(log, reverse=True) if turn > left)
    body = f"<h3>What a policy reads</h3><pre>{escape(log[left][1])}</pre>"
    for title, text in (("Its system prompt", SYSTEM_PROMPT), ("What it read before", earlier)):
        body += f"<details><summary>{title}</summary><pre>{escape(text)}</pre></details>"
    return f"<section>{body}</section>"


def _limit(known: PolicyView, kind: str, default: float) -> float:
    """Tightest limit of the flight rules of a kind that are in force, or the default."""
    now = known.telemetry.time_s
    rules = (r for r in known.brief.rules if r.kind == kind)
    limits = (r.limit for r in rules if r.from_s <= now and (r.until_s is None or now <= r.until_s))
    return (min if kind == "rate_cap" else max)(limits, default=default)


def _general(known: PolicyView) -> Iterator[tuple[str, commands.AnyCommand]]:
    """Commands that fit any time."""
    for time in commands.DURATIONS_S[:4]:
        yield f"Coast {time:g} s: drift, no gas", commands.Coast(duration_s=time)
    for part in get_args(commands.Subsystem):
        yield f"Check {part.replace('_', ' ')}: 30 s", commands.Check(subsystem=part)
    other: commands.Branch = "B" if known.telemetry.branch == "A" else "A"
    yield f"Switch to thruster branch {other}: 5 s", commands.SelectBranch(branch=other)
    yield "Calibrate the gyro against the star tracker: 60 s", commands.CalibrateGyro(duration_s=60)
    for source in get_args(commands.AttitudeSource):
        name = source.replace("_", " ")
        yield f"Take the attitude from {name}: 5 s", commands.SelectAttitudeSource(source=source)
    yield "Safe mode: spin about the Sun line, 300 s", commands.SafeMode(duration_s=300)
    yield "End the mission: give up", commands.EndMission()


def _aimed(episode: Episode, known: PolicyView) -> Iterator[tuple[str, commands.AnyCommand]]:
    """Commands that serve the current directive, the fitting ones first; slews elsewhere last."""
    goal = current(known)
    if goal and goal.rate_deg_s:
        gas, seconds = budget.detumble(episode.snapshot.sensed.gyro_rad_s, SpacecraftConfig())
        for rate in (r for r in commands.DETUMBLE_RATES_DEG_S if r < goal.rate_deg_s):
            label = f"Detumble to {rate:g} deg/s: about {seconds:.0f} s, {gas:.1f} g"
            yield label, commands.Detumble(rate_deg_s=rate)
        return
    if goal and goal.target and on_target(known, goal):
        yield from _payload(goal, goal.target)
        spare = known.telemetry.propellant_g - _limit(known, "reserve", 0.0)
        for time in sorted(commands.DURATIONS_S, key=lambda d: (d < hold_s(known, goal), d)):
            fits = time >= hold_s(known, goal)
            for deadband in commands.DEADBANDS_DEG if fits else (DEADBAND_DEG,):
                hold = commands.Hold(target=goal.target, deadband_deg=deadband, duration_s=time)
                gas = budget.HOLD_GAS_G_S[deadband] * time
                note = " (into the reserve)" if gas > spare else ""
                yield f"Hold {goal.target} {time:g} s within {deadband:g} deg: about {gas:.2f} g{note}", hold
    route = [goal.target] if goal and goal.target else []
    for name in (*route, *(n for n in known.brief.targets if n not in route)):
        for rate in commands.SLEW_RATES_DEG_S if name in route else commands.SLEW_RATES_DEG_S[1:2]:
            slew = commands.Slew(target=name, rate_deg_s=rate)
            yield _price(episode, known, slew), slew


def _payload(goal: DirectiveBrief, target: str) -> Iterator[tuple[str, commands.AnyCommand]]:
    """What the payload does on its target."""
    if goal.kind == "image":
        yield f"Image {target}", commands.Image(target=target)
    if goal.kind == "downlink":
        yield f"Send data to {target}", commands.Downlink(station=target)


def _price(episode: Episode, known: PolicyView, slew: commands.Slew) -> str:
    """Label of a slew: what it takes by the onboard estimate, and what speaks against it."""
    spec, now, goal, rate = episode.spec, known.telemetry, current(known), slew.rate_deg_s
    start = dcm_from_mrp(episode.snapshot.sensed.sigma_BN)
    end = target_frame(spec.target(slew.target), spec.start.orbit, episode.snapshot.t)
    angle = math.hypot(*budget.turn_between(start, end))
    seconds, gas = budget.slew_time_s(rate, angle), budget.slew_gas_g(rate, angle)
    near = math.radians(_limit(known, "sun_keep_out", -math.inf)) + SUN_WARNING_RAD
    against = {
        "too late": goal is not None and seconds > goal.closes_s - now.time_s - goal.dwell_s,
        "into the reserve": now.propellant_g - gas < _limit(known, "reserve", 0.0),
        "over the rate cap": rate > _limit(known, "rate_cap", math.inf),
        "nears the Sun": budget.path_angle(start, end, spec.start.orbit.sun_hat_N) < near,
    }
    notes = ", ".join(words for words, holds in against.items() if holds)
    label = f"Slew to {slew.target}, {math.degrees(angle):.0f} deg, at {rate:g} deg/s: "
    return f"{label}{seconds:.0f} s, {gas:.1f} g{f' ({notes})' if notes else ''}"
