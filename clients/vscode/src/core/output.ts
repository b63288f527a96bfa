// All that a call has printed, read part by part.
import { agents } from "../protocol";
import type { Daemon } from "./daemon";

const part = 1024 * 1024;
/** More than this is not opened. */
const most = 8 * part;

export async function readOutput(daemon: Daemon, sessionId: string, callId: string): Promise<string> {
  const parts: Buffer[] = [];
  let offset = 0;
  let size = 1;
  while (offset < Math.min(size, most)) {
    const answer = await daemon.request(agents.output, { sessionId, callId, offset, limit: part });
    const bytes = Buffer.from(answer.data, answer.encoding === "base64" ? "base64" : "utf-8");
    parts.push(bytes);
    size = bytes.length === 0 ? offset : answer.size;
    offset += bytes.length;
  }
  const left = size - offset;
  return Buffer.concat(parts).toString() + (left > 0 ? `\n[… ${left} bytes left out …]\n` : "");
}
