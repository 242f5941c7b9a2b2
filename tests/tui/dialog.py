"""Questions of the fake agent. While one is shown, it takes all keys."""

from typing import NamedTuple


class Dialog(NamedTuple):
    name: str
    question: str
    choices: tuple[str, ...]
    selected: int = 0

    def moved(self, by: int) -> "Dialog":
        return self._replace(selected=max(0, min(len(self.choices) - 1, self.selected + by)))


YES = 0  # of the choices: the others refuse
DIALOGS = {
    dialog.name: dialog
    for dialog in (
        Dialog("permission", "Do you want to run this command?", ("Yes", "No")),
        Dialog("trust", "Do you trust the files in this folder?", ("Yes, proceed", "No, exit"), selected=1),
        Dialog("update", "A new version can be installed.", ("Install it now", "Later")),  # in no profile
    )
}
