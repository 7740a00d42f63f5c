/**
 * The access log of a process: lines as its pino writes them at level info, made by JSON.stringify alone. A line of pino took a
 * fifth of a refused request's CPU.
 */
import type { Timers } from '../../core/actors/contract.ts';
import { accessLine, accessMessage, type RequestWatcher } from './access-log.ts';

export interface AccessLinesOptions {
  /** Takes whole lines. */
  readonly to: { write(text: string): unknown };
  /** Of the machine's time, as pino's lines. */
  readonly timers: Pick<Timers, 'epochMs'>;
  /** Of the process, as in its other lines. */
  readonly role: string;
  /** Whether probes get lines, at level debug. */
  readonly isDebug: boolean;
}

/** The numbers of pino's levels. */
const info = 30;
const debug = 20;

/** A line a request. */
export function writeAccessLines({ to, timers, role, isDebug }: AccessLinesOptions): RequestWatcher {
  return {
    begun: (_entry, traceparent) => traceparent,
    ended: (entry, ending) => {
      if (ending.isProbe && !isDebug) return;
      const level = ending.isProbe ? debug : info;
      const line = { level, time: timers.epochMs(), role, ...accessLine(entry, ending), msg: accessMessage };
      to.write(`${JSON.stringify(line)}\n`);
    },
  };
}
