"""What client and daemon say of themselves in `initialize` (protocol.md, Handshake)."""

from abey.protocol.base import Flag, Int, LenientWire

PROTOCOL_VERSION = "1.0"


class UiCapabilities(LenientWire):
    approvals: Flag = False
    edit_arguments: Flag = False
    diffs: Flag = False


class AgentsClientCapabilities(LenientWire):
    """`capabilities.experimental.agents` of the client."""

    protocol_versions: tuple[str, ...]
    client_id: str | None = None
    name: str | None = None
    kind: str | None = None
    ui: UiCapabilities = UiCapabilities()
    deltas: Flag = False


class InitializationOptions(LenientWire):
    """`initializationOptions` of the client; `env` stays in memory."""

    token: str | None = None
    workspace_trusted: Flag = False
    ask: Flag = False
    env: dict[str, str] | None = None


class DaemonInfo(LenientWire):
    pid: Int
    build_id: str
    started_at: str
    state_dir: str
    socket: str | None = None
    tcp: str | None = None


class Limits(LenientWire):
    frame_bytes: Int
    header_bytes: Int
    json_depth: Int
    connections: Int
    requests_in_flight: Int


class AgentsServerCapabilities(LenientWire):
    """`capabilities.experimental.agents` of the daemon."""

    protocol_version: str
    methods: tuple[str, ...]
    features: tuple[str, ...]
    limits: Limits
    daemon: DaemonInfo
    schema_hash: str
