"""As much of a git repository as Postroom looks at."""

import os


def make_repository(root: str | os.PathLike[str]) -> None:
    git = os.path.join(root, ".git")
    os.makedirs(git)
    with open(os.path.join(git, "HEAD"), "w", encoding="ascii") as file:
        file.write("ref: refs/heads/main\n")
