"""Every method, once: its name, what it takes, what it answers (protocol.md, Methods)."""

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from abey.protocol import attaching as a
from abey.protocol import diffs as d
from abey.protocol import lines as li
from abey.protocol import queries as q
from abey.protocol import requests as r
from abey.protocol import rules as ru
from abey.protocol import trust as t
from abey.protocol import upkeep as u
from abey.protocol.base import Wire
from abey.protocol.params import NoParams, Nothing
from abey.protocol.session import Session

P = TypeVar("P", bound=Wire)

R = TypeVar("R", bound=Wire)


@dataclass(frozen=True, slots=True)
class Method(Generic[P, R]):
    """A request: `params` is validated in one place, `result` is what its handler returns."""

    name: str
    params: type[P]
    result: type[R]


START = Method("agents/start", r.StartParams, Session)

STEP = Method("agents/step", r.StepParams, r.StepResult)

RUN = Method("agents/run", r.RunParams, r.RunResult)

RESUME = Method("agents/resume", r.RunParams, r.RunResult)

PAUSE = Method("agents/pause", r.PauseParams, Session)

SEND = Method("agents/send", r.SendParams, r.SendResult)

WITHDRAW = Method("agents/withdraw", r.WithdrawParams, Session)

CONTINUE = Method("agents/continue", r.ContinueParams, Session)

PENDING = Method("agents/pending", q.PendingParams, q.PendingResult)

COMPLETE = Method("agents/complete", r.CompleteParams, r.CompleteResult)

RUN_ISOLATED = Method("agents/runIsolated", r.RunIsolatedParams, r.RunIsolatedResult)

CANCEL = Method("agents/cancel", r.CancelParams, r.AppliedResult)

STOP = Method("agents/stop", r.StopParams, r.AppliedResult)

REOPEN = Method("agents/reopen", r.SessionEffect, r.AppliedResult)

GET = Method("agents/get", q.SessionParams, q.GetResult)

TRANSCRIPT = Method("agents/transcript", q.TranscriptParams, q.TranscriptResult)

SESSIONS = Method("agents/sessions", q.SessionsParams, q.SessionsResult)

EVENTS = Method("agents/events", q.EventsParams, q.EventsResult)

ATTACH = Method("agents/attach", a.AttachParams, a.AttachResult)

DETACH = Method("agents/detach", a.DetachParams, Nothing)

OUTPUT = Method("agents/output", u.OutputParams, u.OutputResult)

DIFF = Method("agents/diff", d.DiffParams, d.DiffResult)

FORK = Method("agents/fork", li.ForkParams, Session)

REWIND = Method("agents/rewind", li.RewindParams, Session)

SEED = Method("agents/seed", li.SeedParams, Session)

RECORD = Method("agents/record", q.SessionParams, li.RecordResult)

UPDATE = Method("agents/update", u.UpdateParams, Session)

DELETE = Method("agents/delete", u.DeleteParams, Nothing)

RESTORE = Method("agents/restore", r.SessionEffect, Session)

TRASH = Method("agents/trash", u.TrashParams, u.TrashResult)

EXPORT = Method("agents/export", u.ExportParams, u.ExportResult)

IMPORT = Method("agents/import", u.ImportParams, Session)

DOCTOR = Method("agents/doctor", NoParams, u.DoctorResult)

REPAIR = Method("agents/repair", u.RepairParams, u.RepairResult)

GC = Method("agents/gc", u.GcParams, u.GcResult)

LIST = Method("agents/list", q.AgentListParams, q.AgentListResult)

VALIDATE = Method("agents/validate", q.ValidateParams, q.ValidateResult)

TRUST = Method("agents/trust", t.TrustParams, t.TrustResult)

RULES = Method("agents/rules", ru.RulesParams, ru.RulesResult)

EXPLAIN = Method("agents/explain", q.ExplainParams, q.ExplainResult)

STATUS = Method("agents/status", NoParams, q.StatusResult)

SHUTDOWN = Method("agents/shutdown", r.ShutdownParams, Nothing)

METHODS: tuple[Method[Any, Any], ...] = (
    START,
    STEP,
    RUN,
    RESUME,
    PAUSE,
    SEND,
    WITHDRAW,
    CONTINUE,
    PENDING,
    COMPLETE,
    RUN_ISOLATED,
    CANCEL,
    STOP,
    REOPEN,
    GET,
    TRANSCRIPT,
    SESSIONS,
    EVENTS,
    ATTACH,
    DETACH,
    OUTPUT,
    DIFF,
    FORK,
    REWIND,
    SEED,
    RECORD,
    UPDATE,
    DELETE,
    RESTORE,
    TRASH,
    EXPORT,
    IMPORT,
    DOCTOR,
    REPAIR,
    GC,
    LIST,
    VALIDATE,
    TRUST,
    RULES,
    EXPLAIN,
    STATUS,
    SHUTDOWN,
)
