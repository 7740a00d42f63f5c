/**
 * The access log of a process: the lines that its pino would write at level info, made by a function for these fields alone. Of
 * the CPU of a refused request a line of pino's was a fifth.
 */
import type { Clock } from '../../actors/contract.ts';
import { type AccessLine, accessLine, accessMessage, type RequestWatcher } from './access-log.ts';

export interface AccessLinesOptions {
  /** Takes whole lines. */
  readonly to: { write(text: string): unknown };
  readonly clock: Clock;
  /** Of the process, as in its other lines. */
  readonly role: string;
  /** Whether probes get lines, at level debug. */
  readonly isDebug: boolean;
}

/** The numbers of pino's levels. */
const info = 30;
const debug = 20;

/** A line a request. */
export function writeAccessLines({ to, clock, role, isDebug }: AccessLinesOptions): RequestWatcher {
  const end = `,"msg":"${accessMessage}"}\n`;
  return {
    begun: (_entry, traceparent) => traceparent,
    ended: (entry, ending) => {
      if (ending.isProbe && !isDebug) return;
      const level = ending.isProbe ? debug : info;
      const begin = `{"level":${level},"time":${clock.nowMs()},"role":"${role}"`;
      to.write(begin + fieldsOf(accessLine(entry, ending)) + end);
    },
  };
}

function fieldsOf(line: AccessLine): string {
  let text = `,"request_id":${quoted(line.request_id)},"door":"${line.door}"`;
  if (line.method !== undefined) text += `,"method":${quoted(line.method)}`;
  if (line.route !== undefined) text += `,"route":${quoted(line.route)}`;
  if (line.path !== undefined) text += `,"path":${quoted(line.path)}`;
  if (line.status !== undefined) text += `,"status":${line.status}`;
  if (line.grpc_status !== undefined) text += `,"grpc_status":${quoted(line.grpc_status)}`;
  if (line.aborted !== undefined) text += ',"aborted":true';
  text += `,"duration_ms":${line.duration_ms}`;
  if (line.tenant !== undefined) text += `,"tenant":${quoted(line.tenant)}`;
  if (line.token_id !== undefined) text += `,"token_id":${quoted(line.token_id)}`;
  if (line.error_code !== undefined) text += `,"error_code":${quoted(line.error_code)}`;
  if (line.reason_code !== undefined) text += `,"reason_code":${quoted(line.reason_code)}`;
  if (line.issue !== undefined) text += `,"issue":${quoted(line.issue)}`;
  if (line.receipt_state !== undefined) text += `,"receipt_state":${quoted(line.receipt_state)}`;
  if (line.receipt_id !== undefined) text += `,"receipt_id":${quoted(line.receipt_id)}`;
  if (line.session_id !== undefined) text += `,"session_id":${quoted(line.session_id)}`;
  if (line.correlation_id !== undefined) text += `,"correlation_id":${quoted(line.correlation_id)}`;
  if (line.trace_id !== undefined) text += `,"trace_id":${quoted(line.trace_id)}`;
  return text;
}

/** Printable ASCII without quotes and backslashes. */
const plain = /^[ !#-[\]-~]*$/;

function quoted(text: string): string {
  return plain.test(text) ? `"${text}"` : JSON.stringify(text);
}
