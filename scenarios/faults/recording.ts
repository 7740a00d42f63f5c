/**
 * The events of a run, for reports: the same in both worlds. Public values only: no share, nonce, token or secret is in
 * any of them. Times are milliseconds of scenario time, which begins at 0.
 */
import type { FaultKind } from './vocabulary/generated-types.ts';
import type { Point } from './vocabulary/trigger-points.ts';

export type RunEvent =
  /** A frame left its sender. `arrivesMs`: its arrivals, one per copy; empty: none. `faults`: ids of those that touched it. */
  | {
      readonly kind: 'frame';
      readonly atMs: number;
      readonly arrivesMs: readonly number[];
      /** Addresses of actors: "node/2", "signing/tn_x/sig_…". */
      readonly from: string;
      readonly to: string;
      /** Undefined: its kind is no point of faults (a key's deletion, a vendor's cancelled order). */
      readonly point: Point | undefined;
      readonly tenant: string;
      readonly session: string;
      readonly attempt: number;
      readonly bytes: number;
      /** A public description of its content. */
      readonly text: string;
      readonly faults: readonly string[];
    }
  /** An actor emitted an event. */
  | {
      readonly kind: 'actor';
      readonly atMs: number;
      readonly address: string;
      readonly type: string;
      readonly level: 'debug' | 'info' | 'warn' | 'error';
      readonly fields: Readonly<Record<string, string | number | boolean | readonly number[] | readonly string[]>>;
    }
  /** An actor's state changed: the public part of it. */
  | {
      readonly kind: 'state';
      readonly atMs: number;
      readonly address: string;
      readonly state: string;
      readonly fields: Readonly<Record<string, string | number | boolean | readonly number[] | readonly string[]>>;
    }
  | {
      readonly kind: 'process';
      readonly atMs: number;
      readonly process: string;
      readonly what: 'up' | 'down' | 'paused' | 'resumed' | 'linkUp' | 'linkDown' | 'clock';
      readonly text: string;
    }
  | {
      readonly kind: 'fault';
      readonly atMs: number;
      readonly id: string;
      readonly fault: FaultKind;
      /** Process names: the fault's targets; when it fires, the processes that it hit. */
      readonly targets: readonly string[];
      readonly what: 'armed' | 'fired' | 'ended';
      readonly text: string;
    }
  /** A step of the scenario, by one of its clients. */
  | {
      readonly kind: 'step';
      readonly atMs: number;
      readonly client: string;
      readonly step: string;
      readonly what: 'began' | 'ended';
      readonly session: string;
      readonly text: string;
    }
  | {
      readonly kind: 'delivery';
      readonly atMs: number;
      readonly event: string;
      readonly session: string;
      readonly status: number;
      readonly text: string;
    }
  | { readonly kind: 'violation'; readonly atMs: number; readonly invariant: string; readonly text: string };
