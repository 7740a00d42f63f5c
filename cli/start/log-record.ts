/** A record of a role's log as a line for people. */

const levelNames: Readonly<Record<number, string>> = { 40: 'warn', 50: 'error', 60: 'fatal' };
/** Fields of every log record, which the terminal omits. */
const housekeeping = new Set(['level', 'time', 'pid', 'hostname', 'name', 'msg', 'v']);

export interface LogRecord {
  readonly level: number;
  /** Milliseconds since 1970. */
  readonly time?: unknown;
  readonly msg?: unknown;
  readonly [field: string]: unknown;
}

/** undefined: the line is no log record. */
export function parseRecord(line: string): LogRecord | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    const record = JSON.parse(line) as LogRecord;
    return typeof record.level === 'number' ? record : undefined;
  } catch {
    return undefined;
  }
}

/** `warn  link lost  node=3 reason="closed"`, and of a request `POST /v1/wallets  201  12.5 ms  tenant=…`. */
export function readable(record: LogRecord): string {
  const { told, rest } = record.msg === 'request' ? requestWords(record) : { told: [record.msg], rest: record };
  const fields = Object.entries(rest)
    .filter(([name]) => !housekeeping.has(name))
    .map(([name, value]) => {
      const { message } = (value ?? {}) as { message?: unknown };
      return `${name}=${typeof message === 'string' ? message : typeof value === 'string' ? value : JSON.stringify(value)}`;
    });
  const words = [levelNames[record.level] ?? '', ...told.map((word) => String(word ?? '')), fields.join(' ')];
  return printable(words.filter((word) => word !== '').join('  '));
}

/** The fields of a request and its result, in reading order, then the others. */
function requestWords(record: LogRecord): { told: readonly unknown[]; rest: object } {
  const { role: _, door, method, route, path, status, grpc_status, reason_code, duration_ms, ...rest } = record;
  const what = [door === 'grpc' ? 'gRPC' : method, route ?? path ?? 'no request line'].filter(Boolean).join(' ');
  const ending = [grpc_status ?? status ?? 'aborted', reason_code].filter(Boolean).join(' ');
  return { told: [what, ending, `${String(duration_ms)} ms`], rest };
}

/** Callers choose some of the text: it must not control a terminal. */
export function printable(line: string): string {
  return line.replace(/\p{Cc}/gu, (char) => `\\u${char.codePointAt(0)!.toString(16).padStart(4, '0')}`);
}
