"""The fold: everything known of one pane in, one verdict out, with the rule or event that decided.

Stamps are wall-clock epoch milliseconds, windows are measured on the monotonic clock: a step of the wall clock or a
suspended machine expires nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from agents_plugin.core.claims import last_turn_end, newest, without_background
from agents_plugin.core.evidence import Claim, Identity, Look, Match, Verdict
from agents_plugin.core.memory import Memory, believable, claim_key
from agents_plugin.core.states import SUSPENDED, Source, State

#: An agent that says it was interrupted has stopped: this is no lull between two steps.
INTERRUPTED_MS = 1_000


@dataclass(frozen=True)
class Windows:
    """How long things wait, in milliseconds (`@agents-dwell`, `-settle`, `-hook-decay`, `-blocked-decay`)."""

    dwell_ms: int = 3_000
    settle_ms: int = 2_000
    hook_decay_ms: int = 60_000
    blocked_decay_ms: int = 300_000
    report_ms: int = 600_000  # a foreign report keeps its rank, and registers a pane, this long


@dataclass(frozen=True)
class Sight:
    """What the pane's manifest can see: `visible` and `proven` states, and its own dwell."""

    visible: frozenset[State] = frozenset()
    proven: frozenset[State] = frozenset()
    dwell_ms: int | None = None


@dataclass(frozen=True)
class Facts:
    """Process and pane facts.

    `foreground`: the agent holds the terminal. `stopped`: it does not run at all until it is continued. `frozen`:
    scrolled back and to be held.
    """

    agent_alive: bool = True
    foreground: bool = True
    stopped: bool = False
    remote: bool = False  # ssh, mosh, docker, nested multiplexer, and `@agents-remote` is off
    ignored: bool = False  # @agent_ignore
    frozen: bool = False


@dataclass(frozen=True)
class Situation:
    """Everything the fold may know of one pane.

    `previous` is what is published (None: nothing, or it belongs to another agent process). `claims` come in any order
    and include the one kept from before; claims of processes that ended are left out by the caller. `precedence` orders
    events of equal time. `progress` is OSC 9;4 as tmux >= 3.7 tells it.
    """

    identity: Identity | None
    previous: Verdict | None
    claims: tuple[Claim, ...]
    look: Look | None
    now_ms: int
    mono_ms: int
    memory: Memory = field(default_factory=Memory)
    facts: Facts = field(default_factory=Facts)
    sight: Sight = field(default_factory=Sight)
    windows: Windows = field(default_factory=Windows)
    progress: State | None = None
    precedence: tuple[str, ...] = ()
    background: bool = True  # live background work keeps the pane working


@dataclass(frozen=True)
class Decision:
    """What to publish (`verdict` None: remove the stamps), what to remember, and why.

    `claim` is the claim to keep. `came_from` is the last state that meant something before this verdict. `due_mono` is
    the monotonic time at which the same evidence would be judged differently: a running dwell, settle or decay.
    """

    verdict: Verdict | None
    memory: Memory
    claim: Claim | None
    came_from: State | None
    trace: tuple[str, ...]
    due_mono: int | None = None


def fold(case: Situation) -> Decision:
    """Judge one pane. Pure and deterministic."""
    return _Fold(case).decide()


def suspended(verdict: Verdict) -> bool:
    """Whether this is the verdict on a stopped agent."""
    return verdict.detail == SUSPENDED and verdict.source is Source.PROCESS


def pauses(verdict: Verdict) -> bool:
    """Whether a verdict says nothing of the agent's work, which stands behind it."""
    return verdict.state is State.UNKNOWN or suspended(verdict)


class _Fold:
    def __init__(self, case: Situation) -> None:
        self.case = case
        self.trace: list[str] = []
        self.due: int | None = None
        claims = case.claims if case.background else tuple(map(without_background, case.claims))
        self.claim = newest(claims, case.now_ms, case.precedence)
        self.turn_at = last_turn_end(claims, case.now_ms)
        memory = case.memory if case.previous else case.memory.fresh()
        self.memory = memory.hearing(self.claim, case.now_ms, case.mono_ms)
        self.claim_age = case.mono_ms - self.memory.claim_mono
        # Neither an unknown moment nor a stop is evidence: what they interrupted is what claims are compared with.
        self.standing = self.memory.before if case.previous and pauses(case.previous) else case.previous
        self.previous = self.standing if case.previous and suspended(case.previous) else case.previous
        self.decided_at = believable(self.standing.evidence_at_ms, case.now_ms) if self.standing else 0

    def decide(self) -> Decision:
        reason = self.unwanted()
        if reason:
            self.trace.append(reason)
            return Decision(None, Memory(), None, None, tuple(self.trace))
        verdict = self.judge()
        before = self.kept_before() if pauses(verdict) or verdict.state is State.BLOCKED else verdict
        came_from = self.standing.state if self.standing else None
        self.trace.append(f"=> {verdict.state}{'/' + verdict.detail if verdict.detail else ''}: {verdict.why}")
        memory = replace(self.memory, before=before)
        return Decision(verdict, memory, self.claim, came_from, tuple(self.trace), self.due)

    def kept_before(self) -> Verdict | None:
        previous = self.case.previous
        if previous and previous.state is not State.BLOCKED and not pauses(previous):
            return previous
        return self.memory.before

    # 1 and 2: is there anything to publish at all?

    def unwanted(self) -> str:
        case = self.case
        if case.facts.ignored:
            return "1 ignored by @agent_ignore: nothing is published"
        registered = any(map(self.registers, case.claims))
        if registered:
            return ""
        if case.facts.remote:
            return "1 remote or nested, and no live report: nothing is published"
        # Somewhere else may be a plain shell: without an agent's name there is nothing to say.
        if case.identity is None or case.identity.headless or not case.identity.agent:
            return "1 no interactive agent, and no live report: nothing is published"
        if not case.facts.agent_alive:
            return "2 the agent's process is gone"
        return ""

    def registers(self, claim: Claim) -> bool:
        """A report registers its pane while its process lives (the caller drops it after), else for ten minutes.

        So does an event, which proved that its process is in the pane.
        """
        if claim.source is Source.HOOK:
            return claim.pid is not None
        if claim.source is not Source.REPORT:
            return False
        age = self.claim_age if claim == self.claim else self.case.now_ms - claim.at_ms
        # What a person typed lives with the shell, and no longer than ten minutes.
        return (claim.pid is not None and claim.until_ms is None) or age < self.case.windows.report_ms

    # 3 to 9

    def judge(self) -> Verdict:
        case, claim = self.case, self.claim
        if case.identity is not None and case.facts.agent_alive and case.facts.stopped:
            return self.stopped()
        if claim and (case.identity is None or not case.facts.agent_alive):
            return self.by_claim(claim, None, "1 registered by its report")
        overruled = self.overruled()
        if claim:
            note = ", overruled by later evidence" if overruled else ""
            self.trace.append(f"claim {claim.state} by {claim.source} ({claim.why}), {self.claim_age} ms old{note}")
        if case.identity is not None and not case.facts.foreground:
            self.memory = self.memory.seeing(None, case.mono_ms)
            if claim and not overruled:
                return self.by_claim(claim, None, "3 another program has the terminal; the claim is held")
            return self.new(State.UNKNOWN, None, Source.PROCESS, case.now_ms, "another program has the terminal")
        if case.look is None or case.look.reading.skip or case.facts.frozen:
            return self.unseen()
        match = self.match(case.look)
        self.memory = self.memory.seeing(match.state if match else None, case.mono_ms)
        self.trace.append(f"screen {match.state} ({match.rule})" if match else "screen says nothing")
        newer = claim is None or case.look.at_ms > believable(claim.at_ms, case.now_ms)
        if not newer:
            self.trace.append("the look is not newer than the claim")
        if match and match.state is State.BLOCKED and newer:
            return self.by_screen(match, case.look, "5 a prompt is on the screen")
        if claim and not overruled and not (match and newer and self.contradicted(claim, match)):
            return self.by_claim(claim, match if newer else None, "6 the claim stands")
        if match and newer and match.state is State.WORKING:
            return self.by_screen(match, case.look, "7 working chrome")
        if match and newer and match.state is State.IDLE and self.dwelt(match):
            return self.by_screen(match, case.look, "8 idle chrome")
        return self.hold(bool(match and newer))

    def stopped(self) -> Verdict:
        """3: a stopped agent owns nothing on the screen, and what it said of itself waits until it runs again."""
        case, previous = self.case, self.case.previous
        self.memory = self.memory.seeing(None, case.mono_ms)
        if previous and suspended(previous):
            return self.stay(previous, "3 still stopped")
        return self.new(State.IDLE, SUSPENDED, Source.PROCESS, case.now_ms, "the agent's process is stopped")

    def match(self, look: Look) -> Match | None:
        match = look.reading.best
        if match and not self.case.background and (match.state, match.detail) == (State.WORKING, "background"):
            return replace(match, state=State.IDLE)
        return match

    def overruled(self) -> bool:
        """Whether the screen has decided against this claim, or had well before it was known: a spool may be late."""
        standing, claim = self.standing, self.claim
        if not standing or not claim or standing.source is not Source.SCREEN or standing.state is claim.state:
            return False
        late = self.decided_at - believable(claim.at_ms, self.case.now_ms)
        return self.memory.beaten == claim_key(claim) or late >= self.case.windows.settle_ms

    def unseen(self) -> Verdict:
        """4: the screen says nothing; the previous verdict stands unless a claim is newer."""
        case, claim, standing = self.case, self.claim, self.standing
        skip = case.look.reading.skip if case.look else None
        why = f"4 the user is in {skip}" if skip else "4 scrolled back" if case.facts.frozen else "4 no look yet"
        self.memory = self.memory.seeing(None, case.mono_ms)
        newer = claim and believable(claim.at_ms, case.now_ms) > self.decided_at and not self.overruled()
        if standing and not newer:
            return self.stay(standing, f"{why}; the verdict stands")
        if claim:
            return self.by_claim(claim, None, f"{why}; the claim counts")
        return self.new(State.UNKNOWN, None, Source.PROCESS, case.now_ms, "nothing says what it does")

    def contradicted(self, claim: Claim, match: Match) -> bool:
        """Whether the screen may overrule the claim now. Silence never does: there is contrary chrome."""
        case = self.case
        if match.state is claim.state:
            return False
        if claim.state is State.UNKNOWN or (match.detail == "background" and not case.background):
            return True
        windows = case.windows
        unranked = claim.source is Source.REPORT and self.claim_age >= windows.report_ms
        if unranked and claim.state in (State.WORKING, State.BLOCKED):
            self.trace.append("the report has lost its rank")
            return True
        forgeable = not claim.proven and claim.state is State.BLOCKED
        if forgeable and claim.state in case.sight.visible and not match.weak:
            self.trace.append("the event does not prove who sent it, and the screen shows no prompt")
            return True
        if claim.state not in case.sight.visible:
            self.trace.append(f"the rules cannot see {claim.state}")
            return False
        start = self.memory.claim_mono
        if claim.state in case.sight.proven and not match.weak:
            window = windows.settle_ms
        else:
            window = windows.blocked_decay_ms if claim.state is State.BLOCKED else windows.hook_decay_ms
            if claim.source is Source.RECORD:
                # A record is true now, not only when it was written: the contradiction has to last.
                start = max(start, self.memory.chrome_mono)
        if case.mono_ms - start >= window:
            self.trace.append(f"contrary chrome, and {window} ms are over")
            return True
        self.wait_until(start + window)
        self.trace.append(f"contrary chrome, but {window} ms are not over")
        return False

    def dwelt(self, match: Match) -> bool:
        """8: idle chrome must stay for the dwell when the pane was working."""
        previous = self.previous
        if previous is None or previous.state is not State.WORKING:
            return True
        dwell = self.case.windows.dwell_ms if self.case.sight.dwell_ms is None else self.case.sight.dwell_ms
        if match.detail == "interrupted":
            dwell = min(dwell, INTERRUPTED_MS)
        end = self.memory.chrome_mono + dwell
        if self.case.mono_ms >= end:
            return True
        self.trace.append(f"idle chrome, {end - self.case.mono_ms} ms of the dwell to go")
        self.wait_until(end)
        return False

    def hold(self, dwelling: bool) -> Verdict:
        """9: nothing on the screen decides. Blocked is not held: its prompt is gone from a screen that was read."""
        case, previous = self.case, self.previous
        if previous and previous.state is State.BLOCKED:
            if self.claim and self.claim.state is not State.BLOCKED:
                return self.by_claim(self.claim, None, "9 the prompt is gone; the claim before it counts again")
            if self.memory.before:
                before = replace(self.memory.before, evidence_at_ms=case.look.at_ms if case.look else case.now_ms)
                return self.stay(before, "9 the prompt is gone; as before it")
            previous = None
        standing = self.standing if previous else None
        progress_over = standing and standing.source is Source.PROGRESS and case.progress is not standing.state
        if case.progress and not dwelling and (standing is None or standing.source is Source.PROGRESS):
            return self.new(case.progress, None, Source.PROGRESS, case.now_ms, "progress by OSC 9;4")
        if standing and not progress_over:
            return self.stay(standing, "9 held")
        return self.new(State.UNKNOWN, None, Source.PROCESS, case.now_ms, "nothing says what it does")

    # verdicts

    def wait_until(self, mono_ms: int) -> None:
        self.due = mono_ms if self.due is None else min(self.due, mono_ms)

    def by_claim(self, claim: Claim, match: Match | None, step: str) -> Verdict:
        """The claim's verdict; a screen that agrees may add the detail and text the claim lacks."""
        self.trace.append(step)
        agreed = match if match and match.state is claim.state else None
        detail, text = claim.detail, claim.text
        previous = self.previous
        if agreed:
            detail, text = detail or agreed.detail, text or agreed.text
        elif match is None and previous and previous.state is claim.state and claim.at_ms <= previous.evidence_at_ms:
            detail, text = previous.detail or detail, previous.text or text
        return self.new(claim.state, detail, claim.source, claim.at_ms, claim.why or str(claim.source), text)

    def by_screen(self, match: Match, look: Look, step: str) -> Verdict:
        self.trace.append(step)
        claim = self.claim
        text = match.text or (claim.text if claim and claim.state is match.state else "")
        at = look.at_ms
        previous = self.previous
        if previous and previous.state is match.state and previous.source is Source.SCREEN:
            # The time that decided stays, or a claim that arrives a little late would count as overruled already.
            at = min(at, self.decided_at or at)
        if claim and claim.state is not match.state:
            self.memory = replace(self.memory, beaten=claim_key(claim))
        return self.new(match.state, match.detail, Source.SCREEN, at, f"rule {match.rule}", text)

    def stay(self, verdict: Verdict, step: str) -> Verdict:
        self.trace.append(step)
        if self.case.previous is verdict:
            turn_at = self.later_turn()
            return verdict if turn_at == verdict.turn_at_ms else replace(verdict, turn_at_ms=turn_at)
        return self.new(
            verdict.state, verdict.detail, verdict.source, verdict.evidence_at_ms, verdict.why, verdict.text
        )

    def later_turn(self) -> int | None:
        previous = self.case.previous
        turns = [at for at in (self.turn_at, previous and previous.turn_at_ms) if at]
        return max(turns, default=None)

    def new(self, state: State, detail: str | None, source: Source, at_ms: int, why: str, text: str = "") -> Verdict:
        since = self.since(state, source, at_ms)
        return Verdict(state, detail, source, at_ms, since, why, text, self.later_turn())

    def since(self, state: State, source: Source, at_ms: int) -> int:
        """When this run began: written once, never in the future, and not broken by an unknown moment."""
        case, standing = self.case, self.standing
        if case.previous and case.previous.state is state:
            return case.previous.since_ms
        if standing and standing.state is state:
            return standing.since_ms
        began = case.now_ms
        if source in (Source.REPORT, Source.HOOK, Source.RECORD) and at_ms > self.decided_at:
            began = at_ms
        elif state is State.IDLE and self.memory.chrome is State.IDLE:
            began = case.now_ms - (case.mono_ms - self.memory.chrome_mono)
        floor = believable(standing.since_ms, case.now_ms) if standing else 0
        return min(case.now_ms, max(began, floor))
