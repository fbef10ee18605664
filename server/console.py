"""The console that a visitor of the web page sees."""

from typing import Any


def page(observation: dict[str, Any]) -> str | None:
    return None


def buttons(observation: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return []
