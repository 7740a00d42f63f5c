/** A scripted coordinator: takes test nodes through a key generation, one message at a time. */
import type { DkgTerms } from '../../core/crypto/dkg-transcripts.ts';
import type { Curve } from '../../core/crypto/group.ts';
import { decodeKeyRecord } from '../../nodes/records/key-record.ts';
import { keyRecordKey } from '../../nodes/records/records.ts';
import type {
  ClientSuppliedShare,
  DkgFinished,
  DkgOpening,
  DkgVerified,
  SealedShare,
} from '../../proto/gen/signmesh/wire/v1/dkg_pb.ts';
import { Scheme } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { rosterDigest } from '../../proto/roster.ts';
import { type FrameNames, only, rosterOf, TestNode } from './harness.ts';

/** A message with its fields only, without protobuf's own marks. */
export type Plain<T> = Omit<T, '$typeName' | '$unknown'>;

export class Ceremony {
  readonly names: FrameNames;
  readonly curve: Curve;
  readonly threshold: number;
  readonly nodes: readonly TestNode[];
  /** What the key is bound to at its making. */
  scheme: Scheme;
  /** Called before every message, for crashes. */
  beforeEach: (node: TestNode) => void = () => {};

  constructor(input: {
    readonly curve: Curve;
    readonly threshold: number;
    readonly totalNodes: number;
    readonly names?: FrameNames;
    readonly nodes?: readonly TestNode[];
    readonly label?: string;
    readonly scheme?: Scheme;
  }) {
    const { totalNodes, label = 'ceremony' } = input;
    this.curve = input.curve;
    this.scheme = input.scheme ?? Scheme.UNSPECIFIED;
    this.threshold = input.threshold;
    this.names = input.names ?? { tenant: 'acme', session: 'key-1', attempt: 1 };
    const roster = rosterOf(totalNodes);
    this.nodes =
      input.nodes ?? roster.nodes.map(({ id }) => new TestNode(id, roster, { label: `${label} node ${id}` }));
  }

  get terms(): DkgTerms {
    const { curve, threshold, names } = this;
    const totalNodes = this.nodes.length;
    return { ...names, rosterDigest: rosterDigest(rosterOf(totalNodes)), curve, threshold, totalNodes };
  }

  node(nodeId: number): TestNode {
    const node = this.nodes[nodeId - 1]!;
    this.beforeEach(node);
    return node;
  }

  open(nodeId: number): DkgOpening {
    const { curve, threshold, scheme } = this;
    const value = { curve, threshold, totalNodes: this.nodes.length, scheme };
    return only(this.node(nodeId).dkg(this.names, { case: 'dkgOpen', value }), 'dkgOpened').opening!;
  }

  openAll(): DkgOpening[] {
    return this.nodes.map(({ nodeId }) => this.open(nodeId));
  }

  seal(dealer: number, recipients: DkgOpening[]): SealedShare[] {
    return only(this.node(dealer).dkg(this.names, { case: 'dkgSeal', value: { recipients } }), 'dkgSealed').shares;
  }

  verify(
    recipient: number,
    dealers: Plain<DkgOpening>[],
    sealed: Plain<SealedShare>[],
    clientSupplied: Plain<ClientSuppliedShare>[] = [],
  ): DkgVerified {
    const body = { case: 'dkgVerify', value: { dealers, sealed, clientSupplied } } as const;
    return only(this.node(recipient).dkg(this.names, body), 'dkgVerified');
  }

  confirm(nodeId: number, results: Plain<DkgFinished>[]) {
    return this.node(nodeId).dkg(this.names, { case: 'dkgConfirm', value: { results } });
  }

  /** All sealed shares by recipient, and the openings. */
  dealAll(): { openings: DkgOpening[]; sealedFor: (recipient: number) => SealedShare[] } {
    const openings = this.openAll();
    const sealed = this.nodes.flatMap(({ nodeId }) =>
      this.seal(
        nodeId,
        openings.filter(({ dealer }) => dealer !== nodeId),
      ),
    );
    return { openings, sealedFor: (id) => sealed.filter(({ recipient }) => recipient === id) };
  }

  finishAll(): DkgFinished[] {
    const { openings, sealedFor } = this.dealAll();
    return this.nodes.map(({ nodeId }) => this.verify(nodeId, openings, sealedFor(nodeId)).finished!);
  }

  /** The whole ceremony; returns all signed results. */
  run(): DkgFinished[] {
    const results = this.finishAll();
    for (const { nodeId } of this.nodes) only(this.confirm(nodeId, results), 'dkgConfirmed');
    return results;
  }

  keyPackages() {
    const { tenant, session } = this.names;
    return this.nodes.map(({ records }) => decodeKeyRecord(records.get(keyRecordKey(tenant, session))!).keyPackage);
  }
}
