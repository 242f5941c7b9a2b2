"""A program in a terminal, as the demo's last act needs one: no hooks, a prompt, and a question first."""

import sys

PROMPT = "clerk> "
QUESTION = "Overwrite report.txt? [y/N] "
TIDY = "tidy"
REMOVE = "Remove 3 old drafts? [y/N] "
PROFILE = {"prompt": "^clerk> ", "dialogs": {"confirm": r"\[y/N\] ?$"}, "stop": ["C-c"], "lines": False}


def main() -> None:
    print("The clerk's desk. It reads what is typed, and knows nothing of Postroom.")
    answer = input(QUESTION)
    print("Overwritten." if answer.strip().lower().startswith("y") else "Kept as it is.")
    while True:
        text = input(PROMPT)
        if text.strip() == TIDY:
            print("Removed." if input(REMOVE).strip().lower().startswith("y") else "Kept.")
            continue
        print(f"  read: {len(text)} characters, {len(text.split())} words")


if __name__ == "__main__":
    try:
        main()
    except (EOFError, KeyboardInterrupt):
        sys.exit(0)
