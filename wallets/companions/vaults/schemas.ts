/** The requests and answers of the routes of vaults. docs/vaults.md shows the same. */
import Type from 'typebox';
import { Metadata } from '../../../gateway/api/metadata.ts';
import {
  Base64Text,
  BooleanText,
  Closed,
  ContractEnum,
  Id,
  Line,
  Lines,
  ListOf,
  Name,
  Nullable,
  OneOf,
  PathId,
  pageQuery,
  secret,
  Timestamp,
} from '../../../gateway/api/schema-kit.ts';
import { ApprovalModeSchema, KeystoreTypeSchema } from '../../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { derivationPathCharsMax, ed25519MessageBytesMax, nodesMax, opaqueBytesMax } from '../../../proto/limits.ts';
import { PolicyUsed, Trace } from '../../custody/intents/public.ts';
import { networkIds } from '../../networks/networks.ts';
import { messageTypes } from './message.ts';
import { approvalsNotSupported } from './policy.ts';
import { approvalModes, curves, keyStatuses, keystoreTypes, vaultStatuses } from './record.ts';

const keystoreIs = { description: 'every key of the vault is bound to it: see docs/signing-api.md' };
const KeystoreType = OneOf(keystoreTypes, keystoreIs);
const Curve = OneOf(curves);
const PolicyName = Line(
  100,
  'name of the policy that decides on its messages, beside the tenant’s `default`; null: none',
);
const approvalIs = { description: '`human_required`: every signature waits for a human’s witness' };
const ApprovalMode = OneOf(approvalModes, approvalIs);
const hex = (description: string) => Type.String({ pattern: '^[0-9a-f]*$', description });

export const CreateVaultBody = Closed(
  {
    name: Name,
    keystore_type: ContractEnum(KeystoreTypeSchema, keystoreTypes, keystoreIs),
    curve: Curve,
    threshold: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: nodesMax,
        description:
          'number of nodes for a signature, from 2; by default the cluster’s threshold, usually 3. For `hsm_pkcs11` and `mpc_vendor` 1',
      }),
    ),
    total_nodes: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: nodesMax,
        description:
          'number of nodes with a share, from 2; by default the cluster’s number, usually 5. For `hsm_pkcs11` and `mpc_vendor` 1',
      }),
    ),
    policy: Type.Optional(Nullable(PolicyName)),
    approval_mode: Type.Optional(ContractEnum(ApprovalModeSchema, approvalModes, approvalIs)),
    metadata: Type.Optional(Metadata),
  },
  { title: 'CreateVault' },
);

export const Vault = Closed(
  {
    id: Id('vlt'),
    name: Name,
    status: OneOf(vaultStatuses),
    keystore_type: KeystoreType,
    curve: Curve,
    threshold: Type.Integer(),
    total_nodes: Type.Integer(),
    approval_mode: ApprovalMode,
    policy: Nullable(PolicyName),
    metadata: Metadata,
    primary_key_id: Id('vky'),
    key_count: Type.Integer({ minimum: 1 }),
    version: Type.Integer({ minimum: 1 }),
    created_at: Timestamp,
    updated_at: Timestamp,
    archived_at: Nullable(Timestamp),
    archive_reason: Nullable(Type.String()),
  },
  { title: 'Vault' },
);

export const VaultList = ListOf('vaults', Vault);

export const CreateKeyBody = Closed({ name: Type.Optional(Name) }, { title: 'CreateVaultKey' });

const Jwk = Closed(
  {
    kty: OneOf(['EC', 'OKP']),
    crv: OneOf(['secp256k1', 'Ed25519']),
    x: Type.String({ description: 'base64url' }),
    y: Type.Optional(Type.String({ description: 'base64url; secp256k1 alone' })),
  },
  { description: 'RFC 7517; RFC 8812 on secp256k1, RFC 8037 on ed25519' },
);

export const VaultKey = Closed(
  {
    id: Id('vky'),
    vault_id: Id('vlt'),
    name: Nullable(Name),
    status: OneOf(keyStatuses, { description: '`deleted`: every node has confirmed that its share is gone' }),
    keystore_type: KeystoreType,
    curve: Curve,
    key_scheme: Type.String({
      description: 'the only scheme that nodes use for this key',
      examples: ['frost_bip340'],
    }),
    key_exposed: Type.Boolean({
      description: 'true for `mock_ecdsa`: its first signature gives the key to the coordinator',
    }),
    public_key: Nullable(hex('compressed point, hex; null for a multisig wallet, whose owners have their own keys')),
    jwk: Nullable(Jwk),
    chain_code: Nullable(hex('32 bytes, hex: for derivation')),
    xpub: Nullable(
      Type.String({ description: 'BIP-32, depth 0; null on ed25519, and for keys that derive no children' }),
    ),
    addresses: Type.Array(Closed({ network: OneOf(networkIds), address: Type.String() }), {
      description: 'on the networks that verify the key’s scheme',
    }),
    owners: Type.Array(
      Closed({ node_id: Type.Integer(), address: Type.String(), public_key: hex('compressed point, hex') }),
      {
        description: 'for a multisig wallet: the nodes’ own keys',
      },
    ),
    participants: Type.Array(Type.Integer(), { description: 'the nodes that hold a share' }),
    created_at: Timestamp,
    deleted_at: Nullable(Timestamp),
  },
  { title: 'VaultKey' },
);

export const VaultKeyList = ListOf('keys', VaultKey);

export const SignBody = Closed(
  {
    key_id: Id('vky'),
    message: Base64Text(ed25519MessageBytesMax, '1 to 65,536 bytes'),
    message_type: OneOf(messageTypes, {
      description:
        '`raw`: secp256k1 signs its SHA-256, ed25519 the message itself. `digest`: 32 bytes (ed25519 also 64), signed as they stand',
    }),
    derivation_path: Type.Optional(
      Type.String({ maxLength: derivationPathCharsMax, description: 'BIP-32, e.g. `m/0/7`; none by default' }),
    ),
    human_approval_witness: Type.Optional(
      Base64Text(opaqueBytesMax, 'for a signature that needs a human’s approval', secret),
    ),
  },
  { title: 'SignMessage' },
);

export const SignQuery = Closed({
  dry_run: Type.Optional(BooleanText('`true`: returns the decision, records nothing and signs nothing')),
});

const ReasonCode = Nullable(
  OneOf([approvalsNotSupported], { description: 'a policy asks for several or named approvers; null otherwise' }),
);

const summary = {
  id: Id('vsg'),
  vault_id: Id('vlt'),
  key_id: Id('vky'),
  status: OneOf(['completed', 'pending_human_approval', 'accepted', 'denied']),
  signing_session_id: Nullable(Type.String({ description: 'of the signing API; null when a policy denied' })),
  message_type: OneOf(messageTypes),
  message_sha256: hex('SHA-256 of the message as sent'),
  derivation_path: Type.String(),
  public_key: Nullable(
    hex(
      'the public key that verifies the signature: the key at the derivation path, compressed; null for a multisig wallet',
    ),
  ),
  policy_decision_id: Id('dec'),
  reason: Type.String({ description: 'of the policies' }),
  reason_code: ReasonCode,
  created_at: Timestamp,
} as const;

/** The fields of a signature in an event. */
export const VaultSignatureSummary = Closed(summary, { title: 'VaultSignatureSummary' });

export const VaultSignature = Closed(
  {
    ...summary,
    signature: Nullable(Type.String({ description: 'base64; null until it is completed' })),
    recovery_id: Nullable(Type.Integer({ minimum: 0, maximum: 3, description: 'of `mock_ecdsa` alone' })),
    policy_receipt: Type.String({ description: 'a compact JWS of purpose `vault_signature`' }),
    receipt: Nullable(Type.Unsafe<object>({ type: 'object', 'x-documented-as': 'DiagnosticReceipt' })),
    checkpoint: Nullable(Type.Unsafe<object>({ type: 'object', 'x-documented-as': 'SessionCheckpoint' })),
  },
  { title: 'VaultSignature' },
);

export const VaultSignatureDryRun = Closed(
  {
    dry_run: Type.Boolean(),
    decision: OneOf(['allow', 'require_approval', 'deny']),
    reason: Type.String(),
    reason_code: ReasonCode,
    policy: PolicyUsed,
    also_policies: Type.Array(PolicyUsed, { description: 'further policies that decided: the strictest wins' }),
    matched_rules: Type.Array(Type.String()),
    trace: Trace,
  },
  { title: 'VaultSignatureDryRun' },
);

export const ArchiveBody = Closed({ reason: Type.Optional(Lines(500, 'shown as `archive_reason`')) });
export const VaultParams = Closed({ id: PathId('id of the vault') });
export const VaultQuery = Closed({
  status: Type.Optional(OneOf(vaultStatuses, { description: 'without it, archived vaults are left out' })),
  ...pageQuery,
});
export const KeyQuery = Closed(pageQuery);
