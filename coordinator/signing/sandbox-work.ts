/**
 * The calls of a sandbox's gateway that read a signing session, apart from its round: previews of partials (previews.ts) and
 * inspections (inspection.ts). Values are never changed in place. In production all of it is empty.
 */

import type { Answer } from '../contract/answers.ts';
import type { InspectCall, PreviewCall } from '../contract/messages.ts';
import type { Attempt } from './attempt.ts';

export interface Preview {
  readonly call: PreviewCall;
  /** Why there will be none; it is said in the next step without a write. */
  readonly failed: Answer | undefined;
  /** An attempt was abandoned for it. */
  readonly redrew: boolean;
}

export interface SandboxWork {
  /** Callers who want to see a partial that is not submitted. */
  readonly previews: readonly Preview[];
  /** Nodes that were previewed, the latest first: they are drawn again, if they can be. */
  readonly previewed: readonly number[];
  /** Who waits for the key to be told what is known. */
  readonly inspections: readonly InspectCall[];
  /** What nodes were asked for previews alone, and answered, in one attempt. */
  readonly aside: Aside;
}

interface Aside {
  /** The attempt's number: with another attempt, all of this is over. */
  readonly attempt: number;
  /** Nodes asked for a preview alone, as long as they have not answered. */
  readonly asked: ReadonlySet<number>;
  /** Answers that do not count, as the nodes gave them: they do once a call wants them. */
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

/** What is aside in this attempt. */
function asideOf({ aside }: SandboxWork, attempt: Attempt | undefined): Aside {
  return attempt && aside.attempt === attempt.number ? aside : nothingAside;
}

export function answersAside(sandbox: SandboxWork, attempt: Attempt | undefined): ReadonlyMap<number, Uint8Array> {
  return asideOf(sandbox, attempt).answers;
}

/** Whether this node was asked for a preview alone and has not answered. */
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
