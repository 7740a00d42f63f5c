/** Why a session is as it is, in one sentence: what, who, which fault, and what to do. */
import type { SandboxFault, SandboxSession, SandboxStreamSession } from '../../../client/generated-api.ts';

export interface Reason {
  readonly text: string;
  readonly helps: 'nothingToDo' | 'resume' | 'correctedCall' | 'newSession' | 'never';
}
export type Reasons = Readonly<Record<string, Reason>>;

const remedies: Readonly<Record<Reason['helps'], string>> = {
  nothingToDo: '',
  resume: 'resume the session',
  correctedCall: 'correct the call and repeat it',
  newSession: 'begin a new session',
  never: 'no repeat of this call helps',
};

/** Empty: all is well. `read`: undefined where the session is another tenant's, or was not read yet. */
export function whyOf(
  seen: SandboxStreamSession,
  read: SandboxSession | undefined,
  faults: readonly SandboxFault[],
  reasons: Reasons,
): string {
  const isPending = read?.state === 'RECEIPT_STATE_PENDING_HUMAN_APPROVAL';
  const hasFailed = seen.state === 'failed' || read?.state === 'RECEIPT_STATE_BACKEND_FAILED' || isPending;
  const culprits = read?.culprits ?? seen.culprits;
  if (!hasFailed && culprits.length === 0 && seen.faults.length === 0) return '';
  const code = read?.reason_code ?? seen.reason_code ?? '';
  const reason = reasons[code];
  const thing = seen.kind === 'dkg' ? 'The key' : 'The signature';
  const isDone = seen.state === 'completed' || read?.state === 'RECEIPT_STATE_BACKEND_COMPLETED';
  const outcome = isPending ? 'waits' : hasFailed ? 'has not been made' : isDone ? 'has been made' : 'is being made';
  const said = hasFailed ? lowerFirst(withoutStop(read?.message || reason?.text || '')) : '';
  const what = `${thing} ${outcome}${said === '' ? '' : `: ${said}`}`;
  const who = culprits.length === 0 ? '' : `${nodesInWords(culprits)} ${culprits.length === 1 ? 'is' : 'are'} blamed`;
  const touching = seen.faults.map((id) => faults.find((fault) => fault.id === id) ?? { id });
  const which = touching.map((fault) => faultInWords(fault)).join(' and ');
  const by = which === '' ? '' : `${which} touched its frames`;
  const armed = touching.filter((fault) => 'state' in fault && fault.state !== 'over').map(({ id }) => id);
  const remove = !hasFailed || armed.length === 0 ? '' : `remove ${armed.join(' and ')}`;
  const remedy = hasFailed ? remedies[reason?.helps ?? 'resume'] : '';
  const todo = [remove, remedy].filter((part) => part !== '').join(', then ');
  return `${[what, who, by, todo].filter((part) => part !== '').join('; ')}.`;
}

export function nodesInWords(nodes: readonly number[]): string {
  return nodes.length === 1 ? `node ${nodes[0]}` : `nodes ${nodes.join(', ')}`;
}

export function faultInWords(fault: SandboxFault | { readonly id: string }): string {
  if (!('fault' in fault)) return `the fault ${fault.id}`;
  const { fault: kind, target } = fault.fault as { readonly fault: string; readonly target?: unknown };
  const of = target === undefined ? '' : ` of ${Array.isArray(target) ? target.join(', ') : String(target)}`;
  return `the fault ${kind}${of} (${fault.id})`;
}

function withoutStop(text: string): string {
  return text.trim().replace(/[.]$/, '');
}

function lowerFirst(text: string): string {
  return /^[A-Z](?![A-Z_])/.test(text) ? text[0]!.toLowerCase() + text.slice(1) : text;
}
