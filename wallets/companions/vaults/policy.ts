/**
 * The decision of the policies about a message. A message moves no money that they could evaluate: it has no asset, amount or
 * destination. Compliance has no input either: `clear`. Its score is the tenant's own risk rules', which decide as for
 * transfers. docs/vaults.md lists the fields that rules can read.
 *
 * A policy that requires one approval, by any approver, makes the signing session wait for a human. A policy that requires
 * more, or names approvers, denies (`APPROVALS_NOT_SUPPORTED`): votes exist only for transaction intents.
 */
import { createHash } from 'node:crypto';
import { actorOf } from '../../../gateway/api/principal.ts';
import type { RequestContext } from '../../../gateway/api/route.ts';
import type { Evaluators, PolicyDecision, ScreeningResult, TransactionFacts } from '../../custody/intents/public.ts';
import type { NetworkId } from '../../networks/networks.ts';
import { type ReceiptSigner, receiptClaims } from '../../policy/receipts/public.ts';
import { sibling } from '../../policy/rules/evaluation-record.ts';
import { merge } from '../../store/changes.ts';
import type { Change } from '../../store/contract.ts';
import type { MessageType } from './message.ts';
import type { VaultKeyRecord, VaultRecord } from './record.ts';

export interface PolicyDeps {
  readonly evaluators: Pick<Evaluators, 'assess' | 'decide'>;
  readonly receipts: Pick<ReceiptSigner, 'sign'>;
}

export interface MessageFacts {
  /** vsg_…, of the requested signature. */
  readonly id: string;
  readonly vault: VaultRecord;
  readonly key: VaultKeyRecord;
  readonly message: Uint8Array;
  readonly messageType: MessageType;
  readonly derivationPath: string;
}

/** A policy asks for votes, which a message cannot get. */
export const approvalsNotSupported = 'APPROVALS_NOT_SUPPORTED';

export interface MessageDecision {
  readonly outcome: 'allow' | 'needsHuman' | 'deny';
  readonly decision: PolicyDecision;
  readonly reason: string;
  readonly reasonCode: typeof approvalsNotSupported | null;
  /** A compact JWS of purpose `vault_signature`. */
  readonly receipt: string;
  readonly change: Change;
}

/** Throws ServiceError for a policy that no longer exists. */
export async function decideMessage(
  { evaluators, receipts }: PolicyDeps,
  context: RequestContext,
  asked: MessageFacts,
): Promise<MessageDecision> {
  const facts = transactionFacts(context, asked);
  const screening = nothingToScreen(asked.id);
  const { result: risk, change: scored } = await evaluators.assess(context, facts, screening);
  const names = asked.vault.policy === null ? [] : [asked.vault.policy];
  const { result: decision, change: decided } = await evaluators.decide(context, facts, screening, risk, names);
  const receipt = receipts.sign(receiptClaims(context.tenant, 'vault_signature', facts, decision, risk));
  return { ...outcomeOf(decision), decision, receipt, change: merge(scored, decided) };
}

function outcomeOf({
  decision,
  approvals,
  reason,
}: PolicyDecision): Pick<MessageDecision, 'outcome' | 'reason' | 'reasonCode'> {
  if (decision !== 'require_approval') return { outcome: decision, reason, reasonCode: null };
  const isHumanEnough = approvals === undefined || (approvals.quorum <= 1 && approvals.approvers.length === 0);
  if (isHumanEnough) return { outcome: 'needsHuman', reason, reasonCode: null };
  const why = `${approvalsNotSupported}: ${reason}; a message takes no votes`;
  return { outcome: 'deny', reason: why, reasonCode: approvalsNotSupported };
}

/** The message's values for the fields of a transfer. */
export function transactionFacts(context: RequestContext, asked: MessageFacts): TransactionFacts {
  const { id, vault, key, message, messageType, derivationPath } = asked;
  return {
    id,
    kind: 'message',
    walletId: vault.id,
    walletName: vault.name,
    provider: 'self_hosted',
    // A message has no network: rules get an empty text.
    network: '' as NetworkId,
    asset: '',
    amount: '0',
    units: 0n,
    // The most that an asset has: every amount that `units()` takes has a value, and a message's 0 is below it.
    decimals: 18,
    fromAddress: '',
    toAddress: '',
    availableUnits: 0n,
    wantsHuman: vault.approvalMode === 'human_required',
    initiator: actorOf(context.principal),
    metadata: {
      key_id: key.id,
      keystore_type: key.keystoreType,
      curve: key.curve,
      message_type: messageType,
      message_bytes: message.length,
      message_sha256: createHash('sha256').update(message).digest('hex'),
      derivation_path: derivationPath,
    },
    history: { intentsLastHour: 0, intentsLastDay: 0, intentsToDestination: 0 },
    nowMs: context.nowMs,
  };
}

function nothingToScreen(id: string): ScreeningResult {
  return {
    id: sibling(id, 'scr'),
    decision: 'clear',
    riskScore: 0,
    matches: [],
    reportId: sibling(id, 'rep'),
    listVersions: {},
  };
}
