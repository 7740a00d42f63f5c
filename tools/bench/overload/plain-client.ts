/**
 * POST over HTTP/1.1 on plain sockets, one request at a time on each, for an overload: thousands of calls are under way on as
 * many connections, and a general client takes CPU that the measured service then lacks. It understands only what this service
 * answers: a status, headers, and a body with a Content-Length.
 */
import { connect, type Socket } from 'node:net';

export interface PlainAnswer {
  readonly status: number;
  readonly text: string;
  /** Seconds. */
  readonly retryAfter: string | undefined;
}

export interface PlainClient {
  /** Rejects without an answer. `idempotencyKey`: of a call that may be repeated. */
  post(path: string, body: string, idempotencyKey?: string): Promise<PlainAnswer>;
  /** Cuts all connections. */
  close(): void;
}

interface Connection {
  readonly socket: Socket;
  read: string;
  waiting: { resolve(answer: PlainAnswer): void; reject(error: Error): void } | undefined;
}

const endOfHead = '\r\n\r\n';
const statusAt = 'HTTP/1.1 '.length;

/** At most `connectionsMax` requests are in progress; more wait here. */
export function plainClient(url: string, token: string, connectionsMax: number): PlainClient {
  const { hostname, port, host } = new URL(url);
  const fixed = ` HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\n`;
  /** The last used first, so that no more are open than are needed. */
  const free: Connection[] = [];
  const open = new Set<Connection>();
  const queued: ((connection: Connection) => void)[] = [];

  const connection = (): Connection => {
    const socket = connect({ host: hostname, port: Number(port), noDelay: true });
    const made: Connection = { socket, read: '', waiting: undefined };
    open.add(made);
    const gone = (error?: Error): void => {
      if (!open.delete(made)) return;
      const index = free.indexOf(made);
      if (index >= 0) free.splice(index, 1);
      made.waiting?.reject(error ?? new Error('the connection was closed before the answer'));
      queued.shift()?.(connection());
    };
    // Bytes as characters: the length of an answer counts bytes.
    socket.setEncoding('latin1');
    socket.on('error', gone);
    socket.on('close', () => gone());
    socket.on('data', (text: string) => {
      made.read = made.read === '' ? text : made.read + text;
      const answer = answerIn(made.read);
      if (answer === undefined) return;
      const { waiting } = made;
      made.read = '';
      made.waiting = undefined;
      const next = queued.shift();
      if (next === undefined) free.push(made);
      else next(made);
      waiting?.resolve(answer);
    });
    return made;
  };

  return {
    post: (path, body, idempotencyKey) =>
      new Promise((resolve, reject) => {
        const key = idempotencyKey === undefined ? '' : `idempotency-key: ${idempotencyKey}\r\n`;
        const request = `POST ${path}${fixed}${key}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
        const send = (on: Connection): void => {
          on.waiting = { resolve, reject };
          on.socket.write(request);
        };
        const ready = free.pop();
        if (ready !== undefined) send(ready);
        else if (open.size < connectionsMax) send(connection());
        else queued.push(send);
      }),
    close: () => {
      for (const { socket } of open) socket.destroy();
    },
  };
}

/** undefined: it is not complete. */
function answerIn(read: string): PlainAnswer | undefined {
  const headEnd = read.indexOf(endOfHead);
  if (headEnd < 0) return undefined;
  const head = read.slice(0, headEnd).toLowerCase();
  const text = read.slice(headEnd + endOfHead.length);
  if (text.length < Number(headerIn(head, 'content-length'))) return undefined;
  return { status: Number(head.slice(statusAt, statusAt + 3)), text, retryAfter: headerIn(head, 'retry-after') };
}

function headerIn(head: string, name: string): string | undefined {
  const at = head.indexOf(`\r\n${name}: `);
  if (at < 0) return undefined;
  const from = at + name.length + 4;
  const end = head.indexOf('\r\n', from);
  return head.slice(from, end < 0 ? undefined : end);
}
