/**
 * The calls of a sandbox's gateway that read a signing session, separate from its round: previews of partials (previews.ts) and
 * inspections (inspections.ts). No function changes values in place. In production it is empty.
 */

import type { CallAnswer } from '../contract/call-answer.ts';
import type { InspectCall, PreviewCall } from '../contract/messages.ts';
import type { Attempt } from './attempt.ts';

export interface Preview {
  readonly call: PreviewCall;
  /** The reason for none; the next step without a write answers it. */
  readonly failed: CallAnswer | undefined;
  /** It has caused an attempt to be abandoned. */
  readonly redrew: boolean;
}

export interface SandboxWork {
  /** Calls for a partial that is not submitted. */
  readonly previews: readonly Preview[];
  /** Nodes that were previewed, the latest first: later draws prefer them, if possible. */
  readonly previewed: readonly number[];
  /** Inspections that wait for the key. */
  readonly inspections: readonly InspectCall[];
  /** The requests and answers of one attempt that are only for previews. */
  readonly aside: Aside;
}

interface Aside {
  /** The attempt's number: another attempt voids all of this. */
  readonly attempt: number;
  /** Nodes asked only for a preview, until they answer. */
  readonly asked: ReadonlySet<number>;
  /** Unchanged answers of nodes that do not count until a call wants them. */
  readonly answers: ReadonlyMap<number, Uint8Array>;
}

const nothingAside: Aside = { attempt: 0, asked: new Set(), answers: new Map() };

export const noSandboxWork: SandboxWork = { previews: [], previewed: [], inspections: [], aside: nothingAside };

export function waitsToSee({ previews }: SandboxWork): boolean {
  return previews.length > 0;
}

export function withPreview(sandbox: SandboxWork, call: PreviewCall): SandboxWork {
  return { ...sandbox, previews: [...sandbox.previews, { call, failed: undefined, redrew: false }] };
}

/** The preview data of this attempt. */
function asideOf({ aside }: SandboxWork, attempt: Attempt | undefined): Aside {
  return attempt && aside.attempt === attempt.number ? aside : nothingAside;
}

export function answersAside(sandbox: SandboxWork, attempt: Attempt | undefined): ReadonlyMap<number, Uint8Array> {
  return asideOf(sandbox, attempt).answers;
}

/** Whether this node was asked only for a preview and has not answered. */
export function isAskedAside(sandbox: SandboxWork, attempt: Attempt, nodeId: number): boolean {
  return asideOf(sandbox, attempt).asked.has(nodeId);
}

export function askedAside(sandbox: SandboxWork, attempt: Attempt, nodeIds: readonly number[]): SandboxWork {
  if (nodeIds.length === 0) return sandbox;
  const { asked, answers } = asideOf(sandbox, attempt);
  return { ...sandbox, aside: { attempt: attempt.number, asked: new Set([...asked, ...nodeIds]), answers } };
}

/** `partial`: undefined if the node refused. */
export function answeredAside(
  sandbox: SandboxWork,
  attempt: Attempt,
  nodeId: number,
  partial: Uint8Array | undefined,
): SandboxWork {
  const before = asideOf(sandbox, attempt);
  const asked = new Set([...before.asked].filter((id) => id !== nodeId));
  const answers = partial ? new Map(before.answers).set(nodeId, partial) : before.answers;
  return { ...sandbox, aside: { attempt: attempt.number, asked, answers } };
}
