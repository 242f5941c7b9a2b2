"""The mail as a person sees it: it comes by itself, its rail fills in, and it can be found and answered."""

import re

import pytest
from playwright.sync_api import APIResponse, Locator, Page, Route, expect

from postroom.model.ladder import State
from postroom.top.view import sieve
from tests.page.hall import Hall
from tests.page.scripted import PERSON
from tests.process import until


def row(page: Page, text: str) -> Locator:
    return page.locator(".row", has_text=text)


def top(line: Locator) -> float:
    box = line.bounding_box()
    assert box is not None
    return box["y"]


def beside(page: Page) -> Locator:
    return page.locator("#beside")


@pytest.mark.promise("page-live")
def test_a_message_that_is_sent_elsewhere_comes_by_itself_and_its_rail_fills_in(hall: Hall, page: Page):
    hall.up().open(page)
    sent = hall.script.send("planner", "backend", "Refund endpoint", "Please add it.")
    line = row(page, "Refund endpoint")
    expect(line.locator(".rung.on")).to_have_count(1)
    mail = hall.room.take("backend", id=sent.id)
    assert mail is not None
    expect(line.locator(".rung.on")).to_have_count(2)
    expect(line.locator(".word")).to_have_text(re.compile("offered"))
    hall.room.settle(mail)
    expect(line.locator(".rung.on")).to_have_count(3)
    hall.room.ack(sent.id, agent="backend")
    expect(line.locator(".rung.on")).to_have_count(4)
    expect(line.locator(".word")).to_have_text("acked")
    expect(page.locator("#news")).to_contain_text("planner to backend: Refund endpoint")


def test_an_answer_that_comes_late_does_not_take_back_what_was_heard_since(hall: Hall, page: Page):
    sent = hall.script.send("planner", "backend", "Refund endpoint", "Please add it.")
    hall.up().open(page)
    rungs = row(page, "Refund endpoint").locator(".rung.on")
    expect(rungs).to_have_count(1)
    late: list[tuple[Route, APIResponse]] = []
    page.route("**/api/v1/messages?*", lambda route: late.append((route, route.fetch())))
    hall.kill()
    hall.up()  # the page looks again at what there is
    until(lambda: late or page.evaluate("null"))
    assert hall.room.take("backend", id=sent.id)
    expect(rungs).to_have_count(2)
    route, answer = late[0]
    with page.expect_response("**/api/v1/messages?*"):
        route.fulfill(response=answer)
    hall.script.send("planner", "backend", "Afterwards", "So the answer was read.")
    expect(row(page, "Afterwards")).to_be_visible()
    expect(rungs).to_have_count(2)
    page.unroute_all(behavior="ignoreErrors")


def test_a_side_exit_is_drawn_as_one(hall: Hall, page: Page):
    sent = hall.script.send("planner", "backend", "Not for you", "Or is it?")
    hall.room.nack(sent.id, "not my part of the code", agent="backend")
    hall.up().open(page)
    line = row(page, "Not for you")
    expect(line.locator(".exit .cross")).to_be_visible()
    expect(line.locator(".word")).to_have_text("bounced")
    line.get_by_role("link").click()
    expect(beside(page).get_by_text("Because: not my part of the code.")).to_be_visible()


def test_what_was_written_in_the_page_is_mail_and_its_address_is_completed(hall: Hall, page: Page):
    hall.up().open(page)
    page.get_by_role("button", name="Write").click()
    page.get_by_label("To", exact=True).press_sequentially("back")
    page.get_by_role("dialog").get_by_role("option", name="shop/backend").click()
    page.get_by_label("Subject").fill("From the page")
    page.get_by_label("Message").fill("Hello, backend.")
    page.get_by_role("button", name="Send").click()
    expect(beside(page).get_by_role("heading", name="From the page")).to_be_visible()
    [mail] = hall.room.peek("backend")
    assert (mail.subject, mail.body, mail.message.sender) == ("From the page", "Hello, backend.", PERSON)


def test_an_address_that_was_typed_before_it_is_known_who_is_here_is_completed_then(hall: Hall, page: Page):
    held: list[Route] = []
    page.route("**/api/v1/agents*", lambda route: held.append(route))  # noqa: PLW0108 - it asks for a function
    hall.up().open(page)
    page.get_by_role("button", name="Write").click()
    page.get_by_label("To", exact=True).fill("back")
    until(lambda: held or page.evaluate("null"))
    page.unroute_all()  # which lets go what is held
    page.get_by_role("dialog").get_by_role("option", name="shop/backend").click()
    expect(page.get_by_label("To", exact=True)).to_have_value("shop/backend")


def test_what_is_refused_says_why_and_loses_nothing_that_was_written(hall: Hall, page: Page):
    hall.up().open(page)
    page.get_by_role("button", name="Write").click()
    page.get_by_label("To", exact=True).fill("nobody-at-all")
    page.get_by_label("Message").fill("A long letter.")
    page.get_by_role("button", name="Send").click()
    expect(page.locator("dialog .fault")).to_contain_text("Nobody has the address 'nobody-at-all'. See who")
    expect(page.get_by_label("Message")).to_have_value("A long letter.")


def test_a_reply_goes_to_who_wrote_and_into_its_thread(hall: Hall, page: Page):
    asked = hall.script.send("backend", PERSON, "Which currency?", "EUR or USD?", type="request")
    hall.up().open(page)
    row(page, "Which currency?").get_by_role("link").click()
    beside(page).get_by_role("button", name="Reply").click()
    page.get_by_label("Reply to shop/backend").fill("EUR.")
    page.get_by_role("button", name="Send reply").click()
    expect(page.locator("#said")).to_contain_text("stored")
    [mail] = hall.room.peek("backend")
    assert (mail.body, mail.message.thread) == ("EUR.", asked.message.thread)
    expect(beside(page).locator(".delivery .word")).to_have_text("acked")
    beside(page).get_by_role("link", name="Thread").click()
    expect(beside(page).locator(".letters > li")).to_have_count(2)


def test_a_message_tells_every_attempt_and_its_evidence(hall: Hall, page: Page):
    sent = hall.script.send("planner", "backend", "Refund endpoint", "Please add it.")
    mail = hall.room.take("backend", id=sent.id, route="hook:Stop")
    assert mail is not None
    hall.room.settle(mail)
    hall.up().open(page, f"#/mail?message={sent.id}")
    expect(beside(page).locator(".why")).to_contain_text("Evidence: its own act")
    expect(beside(page).locator(".attempts li")).to_contain_text("by its hook at Stop")
    beside(page).get_by_text("Timeline").click()
    expect(beside(page).locator(".history li b")).to_have_text(["stored", "offered", "seen"])


def test_what_the_server_was_too_busy_to_say_is_asked_for_again(hall: Hall, page: Page):
    hall.script.send("planner", "backend", "Refunds", "They are due.")
    page.route("**/api/v1/types", lambda route: route.abort(), times=1)
    hall.up().open(page)
    expect(page.locator(".row")).to_have_count(1)
    expect(page.get_by_label("All types").locator("option[value=request]")).to_have_count(1)


def test_a_filter_that_is_chosen_from_stays_itself_when_another_appears_before_it(hall: Hall, page: Page):
    hall.script.send("planner", "backend", "Refunds", "They are due.")
    held = list[Route]()

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/api/v1/projects", hold, times=1)
    hall.up().open(page)
    page.get_by_label("Everybody").evaluate("select => (select.mark = 1)")
    held[0].continue_()
    expect(page.get_by_label("All projects")).to_be_attached()
    assert page.get_by_label("Everybody").evaluate("select => select.mark") == 1


def test_filters_and_search_show_what_fits_and_the_address_keeps_them(hall: Hall, page: Page):
    hall.script.send("planner", "backend", "Refunds", "They are due.")
    hall.script.send("frontend", "backend", "Coupons", "Which currency wins?", type="request")
    hall.script.send("planner", "topic:releases", "1.4 is frozen", "Only fixes.")
    hall.up().open(page)
    rows = page.locator(".row")
    expect(rows).to_have_count(3)
    page.get_by_label("All types").select_option("request")
    expect(rows).to_have_count(1)
    page.get_by_role("link", name="Clear").click()
    expect(rows).to_have_count(3)
    page.get_by_label("Search the mail").fill("currency")
    expect(rows).to_have_count(1)
    expect(rows.locator("mark")).to_have_text("currency")
    page.reload()
    expect(rows).to_have_count(1)
    expect(page.get_by_label("Search the mail")).to_have_value("currency")
    page.get_by_role("link", name="#releases").click()
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("1.4 is frozen")
    page.go_back()
    expect(rows).to_contain_text("Coupons")


def test_each_filter_and_each_field_of_the_search_shows_what_fits_and_nothing_else(hall: Hall, page: Page):
    hall.room.join("infra/disks")
    hall.script.send("planner", "backend", "Refunds", "They are due.")
    hall.script.send("planner", "topic:releases", "Frozen", "Only fixes.")
    refused = hall.script.send("frontend", "backend", "Coupons", "Which currency wins?")
    hall.room.nack(refused.id, "not my part of the code", agent="backend")
    hall.script.send("infra/ops", "infra/disks", "Disks", "They are full.")
    hall.up().open(page)
    field, clear = page.get_by_label("Search the mail"), page.get_by_role("link", name="Clear")
    every = ("Disks", "Refused by backend", "Coupons", "Frozen", "Refunds")

    def shows(*subjects: str) -> None:
        expect(page.locator(".row")).to_have_count(len(subjects))
        expect(page.locator(".row .gist b")).to_have_text(subjects)

    shows(*every)
    page.get_by_label("Projects").get_by_role("link", name="infra").click()
    shows("Disks")
    clear.click()
    page.set_viewport_size({"width": 390, "height": 800})  # where projects are a filter beside the others
    for label, value, *subjects in (
        ("All projects", "infra", "Disks"),
        ("Everybody", "shop/frontend", "Refused by backend", "Coupons"),
        ("All states", "bounced", "Coupons"),
    ):
        page.get_by_label(label).select_option(value)
        shows(*subjects)
        clear.click()
        shows(*every)
    page.set_viewport_size({"width": 1280, "height": 800})
    for text, *subjects in (
        ("project:infra", "Disks"),
        ("project:shop full",),
        ("topic:releases", "Frozen"),
        ("state:bounced", "Coupons"),
        ("with:frontend state:stored", "Refused by backend"),
    ):
        field.fill(text)
        shows(*subjects)


def test_the_fields_show_what_is_searched_for_however_that_was_left(hall: Hall, page: Page):
    hall.script.send("planner", "backend", "Refunds", "They are due.")
    hall.script.send("frontend", "backend", "Coupons", "Which currency wins?", type="request")
    hall.up().open(page)
    rows, kind = page.locator(".row"), page.get_by_label("All types")
    field = page.get_by_label("Search the mail")
    field.fill("currency")
    expect(rows).to_have_count(1)
    page.get_by_role("link", name="Mail", exact=True).click()
    expect(rows).to_have_count(2)
    expect(field).to_have_value("")
    kind.select_option("request")
    expect(rows).to_have_count(1)
    page.get_by_role("link", name="Clear").click()
    expect(rows).to_have_count(2)
    expect(kind).to_have_value("")


def test_a_search_takes_the_filters_that_the_terminal_takes(hall: Hall, page: Page):
    hall.room.join("infra/docs")
    hall.script.send("planner", "backend", "Refunds", "They are due.")
    hall.script.send("frontend", "backend", "Coupons", "They are due, too.", type="request")
    hall.script.send("backend", PERSON, "Lunch?", "They are due.")
    hall.up().open(page, "#/mail?q=from:planner+due")
    rows, field = page.locator(".row"), page.get_by_label("Search the mail")
    expect(rows).to_have_count(1)
    expect(rows.locator("mark")).to_have_text("due")
    hall.script.send("backend", "tester", "No", "Not due from planner.")
    hall.script.send("planner", "tester", "Long suite", "It is due.")
    expect(rows).to_have_count(2)
    for text, subject in (("type:request", "Coupons"), ("to:ana", "Lunch?"), ("from:frontend", "Coupons")):
        field.fill(text)
        expect(rows).to_have_count(1)
        expect(rows).to_contain_text(subject)
    field.fill("from:nobody-at-all")
    expect(page.locator(".foot-of-log .fault")).to_contain_text("no agent 'nobody-at-all'")
    expect(rows).to_have_count(0)


def test_the_page_and_the_terminal_have_one_rule_for_what_is_searched_for(hall: Hall, page: Page):
    texts = ["from:backend refund state:dead key", "at 12:30", " with:a/b  to:topic:x type: :y", "to:a to:b"]
    hall.up().open(page)
    told = page.evaluate("async (texts) => texts.map((await import('/sieve.js')).sieve)", texts)
    assert told == [sieve(text) for text in texts]


def test_every_word_that_was_searched_for_is_marked_in_subject_and_text(hall: Hall, page: Page):
    hall.script.send("planner", "backend", "T-2 parser", "Please build the Parser, or a parsër. Not parsers.")
    hall.script.send("planner", "backend", "All merged", "It is in the branch.", payload={"branch": "parser"})
    hall.up().open(page, "#/mail?q=parser+-test")
    expect(row(page, "T-2").locator("mark")).to_have_text(["parser", "Parser", "parsër"])
    expect(row(page, "All merged").locator("mark")).to_have_text(["parser"])
    page.get_by_label("Search the mail").fill("build OR pars*")
    expect(row(page, "T-2").locator("mark")).to_have_text(["parser", "build", "Parser", "parsër", "parsers"])


def test_that_nobody_decided_is_no_mail_before_the_time_is_up(hall: Hall, page: Page):
    hall.up().open(page)
    hall.script.ask("backend", "Deploy 1.4?", "All checks are green.", ["now", "no"])
    hall.room.send(PERSON, "At once?", sender="backend", subject="Merge?", type="decision_gate", expires=1)
    expect(row(page, "Denied: Merge?")).to_contain_text("nobody decided")
    expect(row(page, "Denied: Deploy 1.4?")).to_have_count(0)
    expect(page.locator(".row")).to_have_count(3)
    page.reload()
    expect(page.locator(".row")).to_have_count(3)


def test_who_writes_to_a_terminal_is_told_what_is_seen_of_it(hall: Hall, page: Page):
    hall.up()
    hall.script.bridged("tester", "asking", "it asks a person: confirm", "approval")
    hall.open(page)
    expect(page.locator("#roster")).to_contain_text("tester, needs a person")
    page.get_by_role("button", name="Write", exact=True).click()
    page.get_by_label("To", exact=True).fill("shop/tester")
    page.get_by_label("Message").fill("Hello.")
    page.get_by_role("button", name="Send").click()
    expect(page.locator("#said")).to_have_text("Stored. shop/tester waits for a person.")


@pytest.mark.promise("page-text")
def test_a_hostile_body_is_shown_as_text_and_breaks_nothing(hall: Hall, page: Page):
    markup = "<img src=x onerror=\"document.title='pwned'\"><script>document.title='pwned'</script>"
    hall.script.send(
        "planner", "backend", "<b>bold</b> \u202eturned", f"{markup}\x1b[31m\u2066{'A' * 200_000}"
    )
    hall.up().open(page)
    line = row(page, "<b>bold</b>")
    expect(line).to_contain_text("‹202E›turned")
    box = line.bounding_box()
    assert box is not None
    assert box["height"] < 70
    line.get_by_role("link").click()
    expect(beside(page).locator(".body")).to_contain_text(markup)
    expect(beside(page).locator(".body")).to_contain_text("␛[31m‹2066›AAA")
    assert page.locator(".body img, .body script, .row b b").count() == 0
    beside(page).get_by_role("button", name="Show all").click()
    expect(beside(page).get_by_role("button", name="Show all")).to_have_count(0)
    assert "pwned" not in page.title()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.promise("page-live")
def test_the_page_comes_back_by_itself_after_the_daemon_was_killed_and_has_missed_nothing(
    hall: Hall, page: Page
):
    hall.script.send("planner", "backend", "Before", "One.")
    hall.up().open(page)
    expect(row(page, "Before")).to_be_visible()
    hall.kill()
    expect(page.locator("#banner")).to_contain_text("The line to the daemon is down")
    hall.script.send("planner", "backend", "Meanwhile", "Two.")
    hall.up()
    expect(row(page, "Meanwhile")).to_have_count(1)
    expect(page.locator("#banner")).to_be_hidden()
    hall.script.send("planner", "backend", "Afterwards", "Three.")
    expect(row(page, "Afterwards")).to_have_count(1)
    expect(page.locator(".row")).to_have_count(3)


def test_new_mail_does_not_move_what_is_being_read(hall: Hall, page: Page):
    fill(hall, 100)
    hall.up().open(page)
    expect(page.locator(".row").first).to_contain_text("number 99")
    page.locator(".log").evaluate("one => { one.scrollTop = 2000 }")
    looked_at = row(page, "number 66")
    expect(looked_at).to_be_in_viewport()
    before = top(looked_at)
    hall.script.send("planner", "backend", "News", "Just in.")
    expect(page.get_by_role("button", name="1 new message above")).to_be_visible()
    assert abs(top(looked_at) - before) < 1
    hall.script.send("backend", PERSON, "Which region?", "EU or US?", type="request")
    expect(page.get_by_role("button", name="2 new messages above")).to_be_visible()
    expect(page.locator(".attention li", has_text="asks you")).to_have_count(1)
    assert abs(top(looked_at) - before) < 1
    page.get_by_role("button", name="2 new messages above").click()
    expect(page.locator(".row").first).to_contain_text("Which region?")
    expect(row(page, "News")).to_be_in_viewport()


def test_what_is_closed_leads_back_to_where_one_was(hall: Hall, page: Page):
    fill(hall, 100)
    page.set_viewport_size({"width": 800, "height": 700})
    hall.up().open(page)
    expect(page.locator(".row").first).to_contain_text("number 99")
    page.locator(".log").evaluate("one => { one.scrollTop = 2000 }")
    looked_at = row(page, "number 68")
    expect(looked_at).to_be_in_viewport()
    before = top(looked_at)
    looked_at.get_by_role("link").click()
    expect(page.locator("main")).to_be_hidden()
    page.go_back()
    expect(page.locator("#beside")).to_be_hidden()
    assert abs(top(looked_at) - before) < 1
    expect(looked_at.get_by_role("link")).to_be_focused()


def test_ten_thousand_messages_are_scrolled_through_with_few_elements(hall: Hall, page: Page):
    fill(hall, 10_000)
    hall.up().open(page)
    expect(page.locator(".row").first).to_contain_text("number 9999")
    log = page.locator(".log")
    for _ in range(3):
        log.evaluate("one => one.scrollTop = one.scrollHeight")
        page.wait_for_function("() => document.querySelector('.space').offsetHeight > innerHeight * 3")
    assert page.locator(".row").count() < 60
    page.keyboard.press("j")
    page.keyboard.press("Home")
    expect(page.locator(".row a:focus")).to_contain_text("number 9999")


def fill(hall: Hall, count: int) -> None:
    """Many messages, in few transactions."""
    for n in range(count):
        hall.room.send("backend", f"number {n}", sender="planner")


def test_an_agent_is_called_the_same_in_every_line(hall: Hall, page: Page):
    hall.room.join("infra/docs")
    hall.script.send("backend", "planner", "Near", "Within the project.")
    hall.script.send("backend", "human:ana", "Far", "To a person.")
    hall.script.send("docs", "planner", "Two", "Of two who have that name.")
    hall.up().open(page)
    for subject, who in (("Near", "backend"), ("Far", "backend"), ("Two", "shop/docs")):
        expect(page.locator(".row", has_text=subject).locator(".parties bdi").first).to_have_text(who)


def test_a_rail_of_several_recipients_says_how_many_have_it(hall: Hall, page: Page):
    sent = hall.script.send("planner", "@builders", "For both", "Of you.")
    mail = hall.room.take("backend", id=sent.id)
    assert mail is not None
    hall.room.settle(mail)
    hall.up().open(page)
    expect(row(page, "For both").locator(".word")).to_have_text("seen by 1 of 2")
    until(lambda: State.SEEN in [one.state for one in hall.room.receipts(sent.id).deliveries])
