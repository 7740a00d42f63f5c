/**
 * The reference model of answers: the reason codes that a call may get, by the durable state, and the content of its receipt.
 * Written from docs/signing-api.md and docs/reason-codes.md; it shares no rule with coordinator/.
 *
 * The checkpoint of an answer names the version of the session by which the coordinator answered. Where another session or key
 * may change between a call and its answer, the model allows both.
 */
import { isSupportedContractVersion } from '../../proto/contract-version.ts';
import type { Call } from '../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import type { PreviewPartialRequest } from '../../proto/gen/signmesh/wire/v1/sandbox_pb.ts';
import type { OrchestrationContext, SignatureShareRequest } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { proofIn } from '../cluster/invariants/answer-parts.ts';
import { keyRecordsIn } from '../cluster/invariants/node-records.ts';
import type { Checker, Observation } from '../cluster/observation.ts';
import type { AnsweredCall, AnswerFacts, Promised } from './answer-facts.ts';
import { closed, dkgInitiated, exchanged, refreshed } from './key-answers.ts';
import { receiptFault } from './receipts.ts';
import { contextFault } from './request-forms.ts';
import { initiated, resumed, submitted } from './signing-answers.ts';

/** The inputs of the model's rules of answers, and the constants of a run. */
export type AnswerSources = Pick<AnswerFacts, 'history' | 'refusals' | 'waiting' | 'nodesTotal' | 'nodesWaitMs'>;

export function answersAsModelled(sources: AnswerSources): Checker {
  const { history } = sources;
  const calledMs = new Map<bigint, number>();
  const tokens = new Map<string, { readonly session: string; readonly epoch: bigint }>();
  const steps = new Map<string, number>();
  const held = new Set<string>();
  const facts: AnswerFacts = { ...sources, tokens, steps, held };
  /** Armed faults of the store: an answer may then report that it was tampered with, or that it is full. */
  const strange = new Set<string>();
  /** Calls that a fault changed in transit. */
  const changed = new Set<bigint>();

  function promised(call: Promised): string | undefined {
    const began = calledMs.get(call.callId) ?? call.atMs;
    if (call.method === 'closeKey') return closed(facts, call, began);
    const { receipt, checkpoint } = proofIn(call.response) ?? {};
    if (!receipt || !checkpoint) return undefined;
    const record = history.at(checkpoint.checkpointId);
    if (checkpoint.resumeToken !== '' && record) {
      tokens.set(checkpoint.resumeToken, { session: record.sessionId, epoch: checkpoint.epoch });
    }
    const fault = receiptFault(call, receipt, checkpoint, record);
    if (fault) return fault;
    const reason = receipt.reasonCode;
    const { context } = call.request as { readonly context?: OrchestrationContext };
    const version = context?.client?.contractVersion ?? '';
    const isServed = context === undefined || isSupportedContractVersion(version);
    if (isServed === (reason === 'CONTRACT_VERSION_UNSUPPORTED')) return `version ${version} hears ${reason}`;
    if (!isServed) return undefined;
    if (reason === 'STORE_TAMPERED' || reason === 'TENANT_QUOTA_EXCEEDED') {
      const isSo = strange.has(reason === 'STORE_TAMPERED' ? 'store_tampered' : 'store_full');
      return isSo ? undefined : `it hears ${reason}, which it is not`;
    }
    const isWrong = contextFault(context);
    if (isWrong) return reason === isWrong ? undefined : `its context is too long, and it hears ${reason}`;
    const rule = ruleOf(call.method);
    return rule?.(facts, { call, reason, record, beganMs: began });
  }

  return {
    invariant: 'answer-as-modelled',
    observe(observation: Observation) {
      switch (observation.kind) {
        case 'called':
          calledMs.set(observation.callId, observation.atMs);
          if (observation.method === 'submitSignatureShare') {
            const { signingSessionId, nodeId } = observation.request as SignatureShareRequest;
            const name = `${observation.tenant}/${signingSessionId} ${nodeId}`;
            steps.set(name, (steps.get(name) ?? 0) + 1);
          } else if (observation.method === 'previewPartial') {
            // Another call may count the partial that it asked the node for.
            const { sessionId, nodeId } = observation.request as PreviewPartialRequest;
            const name = `${observation.tenant}/${sessionId} ${nodeId}`;
            steps.set(name, (steps.get(name) ?? 0) + 1);
          }
          return undefined;
        case 'frame': {
          const { body } = observation.envelope.message;
          if (body.case === 'call' && observation.touched) changed.add((body.value as Call).callId);
          return undefined;
        }
        case 'promised': {
          const wrong = promised(observation);
          if (changed.has(observation.callId)) return undefined;
          return wrong && `the answer to ${observation.method}: ${wrong}`;
        }
        case 'fault':
          if (observation.fault.startsWith('store_')) strange.add(observation.fault);
          return undefined;
        case 'process':
          if (observation.storeLost)
            for (const one of [...held]) if (one.startsWith(`${observation.process} `)) held.delete(one);
          return undefined;
        case 'written':
          if (observation.process === 'coordinator' || observation.outcome !== 'written') return undefined;
          for (const { name } of keyRecordsIn(observation.write)) held.add(`${observation.process} ${name}`);
          for (const key of observation.write.deletes)
            held.delete(`${observation.process} ${key.replace(/^key\//, '')}`);
          return undefined;
        default:
          return undefined;
      }
    },
  };
}

/** The rule for the answers to a call. */
function ruleOf(
  method: Promised['method'],
): ((facts: AnswerFacts, answered: AnsweredCall) => string | undefined) | undefined {
  switch (method) {
    case 'initiateSigning':
    case 'sign':
      return initiated;
    case 'submitSignatureShare':
      return submitted;
    case 'resumeSession':
      return resumed;
    case 'initiateDkg':
    case 'makeKey':
      return dkgInitiated;
    case 'exchangeDkgShares':
      return exchanged;
    case 'refreshKey':
      return refreshed;
    default:
      return undefined;
  }
}
