/**
 * The protocol between a node process and the process of its PKCS#11 module: lines of JSON, bytes as `{"hex": …}`. The node
 * writes to the process's stdin and reads from its descriptor 3.
 *
 * The answering process runs third-party code, so the node accepts only messages that `readAnswer` knows. It does not use
 * Node's own IPC channel, where a malformed message throws in the reading process.
 */
import type { HsmFault, HsmRequest } from '../records/hsm-port.ts';

/** The path of the module, and the access to its token. */
export interface HsmConfig {
  /** The shared library that the token's maker ships. */
  readonly module: string;
  /** CKA_LABEL of the token. */
  readonly token: string;
  /** Secret: the user's PIN. */
  readonly pin: string;
  /** The program of the process (child.ts, built). */
  readonly program: string;
  /** The timeout of a request, including the start of the process. */
  readonly timeoutMs: number;
}

/** The first message to the process; requests follow. */
export type ToChild =
  | { readonly kind: 'open'; readonly module: string; readonly token: string; readonly pin: string }
  | { readonly kind: 'request'; readonly id: number; readonly request: HsmRequest };

export interface FromChild {
  readonly id: number;
  readonly outcome:
    | { readonly kind: 'made'; readonly publicKey: Uint8Array; readonly signature: Uint8Array }
    | { readonly kind: 'signed'; readonly signature: Uint8Array }
    | { readonly kind: 'destroyed' }
    | { readonly kind: 'failed'; readonly fault: HsmFault; readonly message: string };
}

/** The descriptor that the process answers on. */
export const answersFd = 3;
/** Characters of one answer, at most. */
export const answerCharsMax = 4_096;
/** Characters of the text of a fault, at most. */
const messageCharsMax = 300;

const faults: ReadonlySet<string> = new Set<HsmFault>([
  'HSM_UNCONFIGURED',
  'HSM_SESSION_LOST',
  'HSM_PIN_REFUSED',
  'HSM_TIMEOUT',
  'HSM_TOKEN_ABSENT',
  'HSM_FAILED',
]);

export function writeLine(message: ToChild | FromChild): string {
  const text = JSON.stringify(message, function (this: Record<string, unknown>, name, value: unknown) {
    // The holder's own value: a Buffer turns itself into something else before it comes here.
    const bytes = this[name];
    return bytes instanceof Uint8Array ? { hex: Buffer.from(bytes).toString('hex') } : value;
  });
  return `${text}\n`;
}

/** A line of the node's, as it wrote it. */
export function readRequest(line: string): ToChild {
  return parse(line) as ToChild;
}

/** Reads a line of the module's process; undefined: it is not an answer. */
export function readAnswer(line: string): FromChild | undefined {
  let said: unknown;
  try {
    said = parse(line);
  } catch {
    return undefined;
  }
  const { id, outcome } = fieldsOf(said);
  const { kind, publicKey, signature, fault, message } = fieldsOf(outcome);
  if (typeof id !== 'number') return undefined;
  if (kind === 'destroyed') return { id, outcome: { kind } };
  if (kind === 'failed' && isFault(fault) && typeof message === 'string') {
    return { id, outcome: { kind, fault, message: message.slice(0, messageCharsMax) } };
  }
  if (!(signature instanceof Uint8Array)) return undefined;
  if (kind === 'signed') return { id, outcome: { kind, signature } };
  return kind === 'made' && publicKey instanceof Uint8Array
    ? { id, outcome: { kind, publicKey, signature } }
    : undefined;
}

function parse(line: string): unknown {
  return JSON.parse(line, (_, value: unknown) => {
    const { hex } = fieldsOf(value);
    return typeof hex === 'string' ? Uint8Array.from(Buffer.from(hex, 'hex')) : value;
  });
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function isFault(value: unknown): value is HsmFault {
  return typeof value === 'string' && faults.has(value);
}
