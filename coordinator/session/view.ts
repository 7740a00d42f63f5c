/** A session as a client of its tenant may read it, without secrets and resume tokens. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { SessionViewSchema } from '../../proto/gen/signmesh/wire/v1/sessions_pb.ts';
import { isWalletKey } from '../../proto/limits.ts';
import type { DkgRecord, SessionRecord, SigningRecord } from '../contract/record.ts';
import { isResumable } from '../contract/transitions.ts';
import { backendRoute } from './receipts.ts';
import { messageSha256 } from './retained.ts';

type View = MessageInitShape<typeof SessionViewSchema>;

export function sessionView(record: SessionRecord): View {
  const { ceremony } = record;
  return {
    sessionId: record.sessionId,
    kind: ceremony.kind,
    state: record.state,
    reasonCode: record.reasonCode,
    message: record.message,
    resumable: isResumable(record.state),
    epoch: BigInt(record.epoch),
    checkpointId: record.checkpointId,
    approvalMode: record.approvalMode,
    keystoreType: record.keystoreType,
    backendRoute: backendRoute(record),
    correlationId: record.correlationId,
    createdAtEpochMs: BigInt(record.createdMs),
    changedAtEpochMs: BigInt(record.checkpointMs),
    expiresAtEpochMs: BigInt(record.expiresMs),
    curve: ceremony.curve,
    walletService: isOfWalletService(record),
    ...(ceremony.kind === 'signing' ? signingView(ceremony) : dkgView(ceremony)),
  };
}

/** The wallet service requested it: for a wallet or a vault. */
export function isOfWalletService({ ceremony, sessionId }: SessionRecord): boolean {
  return ceremony.kind === 'signing' ? ceremony.facts.walletService : isWalletKey(sessionId);
}

function signingView({ facts, excluded, submitted, signature, recoveryId }: SigningRecord): View {
  return {
    networkId: facts.networkId,
    culprits: [...excluded],
    intentId: facts.intentId,
    keyId: facts.keyId,
    derivationPath: facts.derivationPath,
    messageSha256: Buffer.from(facts.messageSha256 ?? messageSha256(Buffer.from(facts.messageHash, 'hex')), 'hex'),
    submitted: [...submitted],
    signature: Buffer.from(signature, 'hex'),
    recoveryId: recoveryId < 0 ? new Uint8Array() : Uint8Array.of(recoveryId),
  };
}

function dkgView({ networkId, culprits = [], threshold, totalNodes, publicKey }: DkgRecord): View {
  return { networkId, culprits: [...culprits], threshold, totalNodes, publicKey: Buffer.from(publicKey, 'hex') };
}
