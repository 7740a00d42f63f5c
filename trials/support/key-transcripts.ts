/** What the nodes of a key generation sign, seal and prove over, so that a trial can play a byzantine node. */
import {
  finishTranscript,
  openingTranscript,
  sealedShareTranscript,
  sealingAssociatedData,
  sessionContext,
} from '../../core/crypto/dkg-transcripts.ts';
import { identityFromSeed, sign } from '../../core/crypto/identity.ts';
import { seal } from '../../core/crypto/sealing.ts';
import type { DkgFinished, DkgOpening, SealedShare } from '../../proto/gen/signmesh/wire/v1/dkg_pb.ts';
import { Scheme } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { rosterDigest } from '../../proto/roster.ts';
import type { Identities } from '../../simulation/cluster/identities.ts';
import { trialTenant } from './trial.ts';

type Plain<T> = Omit<T, '$typeName' | '$unknown'>;
export type Opening = Plain<DkgOpening>;
export type Sealed = Plain<SealedShare>;
export type Result = Plain<DkgFinished>;

/** The kinds of keys: their curve, scheme, and the name of the scheme in transcripts. */
export const keyKinds = [
  { curve: 'secp256k1', scheme: Scheme.UNSPECIFIED, name: '', holder: '' },
  { curve: 'secp256k1', scheme: Scheme.MOCK_ECDSA, name: 'mock_ecdsa', holder: '' },
  { curve: 'secp256k1', scheme: Scheme.FROST_BIP340, name: 'frost_bip340', holder: '' },
  { curve: 'ed25519', scheme: Scheme.FROST_ED25519, name: 'frost_ed25519', holder: '' },
  { curve: 'secp256k1', scheme: Scheme.OWNER_ECDSA, name: 'owner_ecdsa', holder: 'node' },
  { curve: 'secp256k1', scheme: Scheme.HSM_ECDSA, name: 'hsm_ecdsa', holder: 'hsm' },
  { curve: 'ed25519', scheme: Scheme.HSM_ED25519, name: 'hsm_ed25519', holder: 'hsm' },
  { curve: 'secp256k1', scheme: Scheme.VENDOR_ECDSA, name: 'vendor_ecdsa', holder: 'vendor' },
  { curve: 'ed25519', scheme: Scheme.VENDOR_ED25519, name: 'vendor_ed25519', holder: 'vendor' },
] as const;
export type KeyKind = (typeof keyKinds)[number];

/** One attempt of a key generation. */
export abstract class KeyTranscripts {
  abstract readonly session: string;
  abstract readonly kind: KeyKind;
  abstract readonly threshold: number;
  abstract readonly ids: readonly number[];
  abstract readonly attempt: number;
  readonly #identities: Identities;

  constructor(identities: Identities) {
    this.#identities = identities;
  }

  /** The opening of this dealer's, with its sealing key. */
  protected abstract openingOf(dealer: number): Opening;

  context(): Uint8Array {
    const { kind, threshold, ids, session, attempt } = this;
    const sharing = { totalNodes: ids.length, participants: ids, threshold };
    const roster = rosterDigest(this.#identities.roster);
    return sessionContext({
      tenant: trialTenant,
      session,
      attempt,
      rosterDigest: roster,
      curve: kind.curve,
      scheme: kind.name,
      ...sharing,
    });
  }

  signedBy(id: number, transcript: Uint8Array): Uint8Array {
    return sign(identityFromSeed(this.#identities.nodes[id - 1]!).secretKey, transcript);
  }

  /** The dealer's opening with other content, and its dealer's signature of that. */
  signedOpening(opening: Opening): Opening {
    return { ...opening, signature: this.signedBy(opening.dealer, openingTranscript(this.context(), { ...opening })) };
  }

  signedResult(result: Result): Result {
    return { ...result, signature: this.signedBy(result.nodeId, finishTranscript(this.context(), result)) };
  }

  /** This content, sealed for a recipient. */
  sealed(dealer: number, recipient: number, plaintext: Uint8Array): Uint8Array {
    const { sealingKey } = this.openingOf(recipient);
    const associatedData = sealingAssociatedData(this.context(), dealer, recipient);
    const random = (length: number) => new Uint8Array(length).fill(5);
    return seal({ recipientPublicKey: sealingKey, plaintext, associatedData, random });
  }

  signedBox(sealed: Sealed): Sealed {
    return { ...sealed, signature: this.signedBy(sealed.dealer, sealedShareTranscript(this.context(), sealed)) };
  }
}
