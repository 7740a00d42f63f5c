/** Requests of a key generation that a node must refuse, each with one fault, and the codes for them. */
import { Scheme } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import type { Framing, KeyParties } from '../support/key-parties.ts';
import type { Opening } from '../support/key-transcripts.ts';
import { changed, type Trial } from '../support/trial.ts';

type Request = { readonly case: string; readonly value: object };

/** All are REQUEST_INVALID. */
export function wrongOpens({ nodesTotal }: Trial, parties: KeyParties, id: number): [what: string, Request, Framing][] {
  const { kind, ids, threshold } = parties;
  const isSingle = threshold === 1;
  const right = parties.open();
  const other = ids.find((one) => one !== id) ?? (id === 1 ? 2 : 1);
  const stranger = Array.from({ length: nodesTotal }, (_, index) => index + 1).find(
    (one) => one !== id && one !== other,
  )!;
  const withValue = (value: object): Request => ({ case: 'dkgOpen', value: { ...right.value, ...value } });
  const found: [string, object][] = [
    ['another curve', { curve: 'p256' }],
    ['no curve', { curve: '' }],
    ['an unknown scheme', { scheme: 99 }],
    ['a scheme of the other curve', { scheme: kind.curve === 'ed25519' ? Scheme.MOCK_ECDSA : Scheme.FROST_ED25519 }],
    ['a threshold above the nodes', { threshold: ids.length + 1 }],
    ['a threshold of zero', { threshold: 0 }],
    ['more nodes than the roster has', { totalNodes: nodesTotal + 1, participants: [] }],
    ['fewer participants than nodes', { participants: ids.slice(1).length > 0 ? ids.slice(1) : [id, other] }],
    ['a participant that is no node', { participants: [...ids.slice(0, -1), nodesTotal + 1] }],
    ['a participant zero', { participants: [0, ...ids.slice(1)] }],
  ];
  if (isSingle)
    found.push([
      'two nodes of one token',
      { threshold: 1, totalNodes: 2, participants: [Math.min(id, other), Math.max(id, other)] },
    ]);
  else {
    found.push(
      ['a threshold of one', { threshold: 1 }],
      ['participants in another order', { participants: [...ids].reverse() }],
    );
    found.push(['a participant twice', { participants: [id, id] }]);
    found.push(['participants without this node', { participants: [other, stranger].sort((a, b) => a - b) }]);
  }
  return [
    ...found.map(([what, value]): [string, Request, Framing] => [what, withValue(value), {}]),
    ['the frame of another session', right, { session: 'another' }],
    ['the frame of another tenant', right, { tenant: 'tn_other' }],
    ['no attempt', right, { attempt: 0 }],
    ['an address of more than a session', right, { address: `${parties.addressOf(id)}/more` }],
    ['a request for nonces', { case: 'dealNonces', value: { scheme: 1, count: 1, coordinatorBoot: 'x' } }, {}],
  ];
}

/** Valid by themselves, for another key: an open attempt keeps its terms. */
export function changedOpens({ nodesTotal }: Trial, parties: KeyParties, id: number): Request[] {
  const { kind, ids } = parties;
  const third = Array.from({ length: nodesTotal }, (_, index) => index + 1).find((one) => !ids.includes(one))!;
  const isEd = kind.curve === 'ed25519';
  const two = { threshold: 2, totalNodes: 2, participants: [id, third].sort((a, b) => a - b) };
  const one = { threshold: 1, totalNodes: 1, participants: [id] };
  const atToken = { ...one, scheme: isEd ? Scheme.HSM_ED25519 : Scheme.HSM_ECDSA };
  const atVendor = { ...one, scheme: isEd ? Scheme.VENDOR_ED25519 : Scheme.VENDOR_ECDSA };
  const onOther = { ...two, scheme: Scheme.UNSPECIFIED, curve: isEd ? 'secp256k1' : 'ed25519' };
  const ofOthers = parties.threshold === 1 ? { ...two, scheme: Scheme.UNSPECIFIED } : two;
  const found = [kind.holder === 'hsm' ? atVendor : atToken, onOther, ofOthers];
  const { value } = parties.open();
  return found.map((changes) => ({ case: 'dkgOpen', value: { ...value, ...changes } }));
}

export function wrongSeals(parties: KeyParties, id: number): [what: string, Request, code: string][] {
  const [other] = parties.others(id);
  const opening = parties.openings.get(other!)!;
  const seal = (...recipients: Opening[]): Request => ({ case: 'dkgSeal', value: { recipients } });
  return [
    ['a recipient twice', seal(opening, opening), 'REQUEST_INVALID'],
    ['a recipient outside the session', seal({ ...opening, dealer: 99 }), 'REQUEST_INVALID'],
    ['a client-supplied recipient', seal({ ...opening, clientSupplied: true }), 'REQUEST_INVALID'],
    ['another sealing key', seal({ ...opening, sealingKey: changed(opening.sealingKey) }), 'OPENING_INVALID'],
    ['other commitments', seal({ ...opening, commitments: [...opening.commitments].reverse() }), 'OPENING_INVALID'],
    ['another signature', seal({ ...opening, signature: changed(opening.signature) }), 'OPENING_INVALID'],
    [
      'a short sealing key',
      seal(parties.signedOpening({ ...opening, sealingKey: opening.sealingKey.slice(1) })),
      'OPENING_INVALID',
    ],
  ];
}

interface WrongVerify {
  readonly what: string;
  readonly request: Request;
  /** The node refuses the request; or it answers with this verdict. */
  readonly code?: string;
  readonly verdict?: string;
}

/** None of them changes the record. */
export function wrongVerifies(trial: Trial, parties: KeyParties, id: number, allowsDealers: boolean): WrongVerify[] {
  const right = parties.verify(id);
  const { value } = right;
  const own = parties.openings.get(id)!;
  const withValue = (changes: object): Request => ({ case: 'dkgVerify', value: { ...value, ...changes } });
  const invalid = (what: string, changes: object): WrongVerify => ({
    what,
    request: withValue(changes),
    code: 'REQUEST_INVALID',
  });
  const ofOne = (what: string, dealer: Opening, sealed: object[], verdict: string): WrongVerify => ({
    ...{ what, verdict },
    request: withValue({ dealers: [dealer], sealed, clientSupplied: [] }),
  });
  const share = { dealer: id, share: new Uint8Array(32).fill(1) };
  const supplied = { ...own, clientSupplied: true };
  const isAllowed = parties.isShared && allowsDealers && !parties.session.startsWith('wal_');
  const found: WrongVerify[] = [
    invalid('a dealer twice', { dealers: [...value.dealers, value.dealers[0]!] }),
    invalid('a dealer outside the session', { dealers: [{ ...own, dealer: trial.nodesTotal + 1 }], sealed: [] }),
    ofOne('another signature of an opening', { ...own, signature: changed(own.signature) }, [], 'OPENING_INVALID'),
    ofOne('other commitments', { ...own, commitments: own.commitments.map(changed) }, [], 'OPENING_INVALID'),
    ofOne(
      'no proof of possession',
      parties.signedOpening({ ...own, possession: changed(own.possession) }),
      [],
      'POSSESSION_INVALID',
    ),
  ];
  if (isAllowed) {
    found.push(
      invalid('a client-supplied share without its opening', {
        clientSupplied: [{ ...share, dealer: id }],
        dealers: [],
        sealed: [],
      }),
      invalid('a client-supplied opening without its share', { dealers: [supplied], sealed: [], clientSupplied: [] }),
      invalid('a share for an opening that is not client-supplied', {
        dealers: [own],
        sealed: [],
        clientSupplied: [share],
      }),
      invalid('a client-supplied share twice', { dealers: [supplied], sealed: [], clientSupplied: [share, share] }),
      ofWrongShare(own, id),
    );
  } else {
    const request = withValue({ dealers: [supplied], sealed: [], clientSupplied: [share] });
    const onlyShare = withValue({ dealers: [], sealed: [], clientSupplied: [share] });
    for (const one of [request, onlyShare])
      found.push({ what: 'a client-supplied dealer', request: one, code: 'CLIENT_DEALERS_NOT_ALLOWED' });
  }
  const [dealer] = parties.others(id);
  if (dealer === undefined) return found;
  const opening = parties.openings.get(dealer)!;
  const box = parties.boxes.get(`${dealer} ${id}`);
  if (box === undefined) {
    // Keys of the nodes' own.
    const foreign = { dealer, recipient: id, box: new Uint8Array(48), signature: new Uint8Array(64) };
    return [...found, invalid('a box of a key that is not shared', { dealers: [opening], sealed: [foreign] })];
  }
  found.push(
    invalid('a box for another node', { sealed: [{ ...box, recipient: dealer }] }),
    invalid('a box twice', { sealed: [box, box] }),
    invalid('a box without its opening', { dealers: [own] }),
    invalid('a box of a dealer outside the session', { sealed: [{ ...box, dealer: trial.nodesTotal + 1 }] }),
    invalid('a dealer without its box', { sealed: [] }),
    ofOne('a box that its dealer did not sign', opening, [{ ...box, box: changed(box.box) }], 'SHARE_UNSIGNED'),
    ofOne(
      'an opening of its own that it did not deal',
      parties.signedOpening({ ...own, commitments: opening.commitments, possession: own.possession }),
      [],
      'POSSESSION_INVALID',
    ),
    ofOne(
      'an own opening with another sealing key',
      parties.signedOpening({ ...own, sealingKey: changed(own.sealingKey) }),
      [],
      'COMMITMENT_MISMATCH',
    ),
  );
  return found;
}

/** A client's share that does not fit its commitments. */
function ofWrongShare(own: Opening, id: number): WrongVerify {
  const none = new Uint8Array(0);
  const supplied = { ...own, clientSupplied: true, possession: none, sealingKey: none, signature: none };
  const clientSupplied = [{ dealer: id, share: new Uint8Array(32).fill(1) }];
  const value = { dealers: [supplied], sealed: [], clientSupplied };
  return { what: 'a wrong client-supplied share', request: { case: 'dkgVerify', value }, verdict: 'SHARE_INVALID' };
}

export function wrongConfirms(parties: KeyParties, id: number): [what: string, Request, code: string][] {
  const { results } = parties.confirm().value;
  const confirm = (...list: object[]): Request => ({ case: 'dkgConfirm', value: { results: list } });
  const found: [string, Request, string][] = [];
  const known = results.filter((result) => result !== undefined);
  const [first] = known;
  if (first === undefined || known.length < results.length) return [['no results', confirm(), 'REQUEST_INVALID']];
  found.push(['a result missing', confirm(...known.slice(1)), 'REQUEST_INVALID']);
  found.push(['a node outside the session', confirm(...known.slice(1), { ...first, nodeId: 99 }), 'REQUEST_INVALID']);
  found.push(['a result twice', confirm(...known, first), 'REQUEST_INVALID']);
  found.push([
    'an unsigned result',
    confirm(...known.slice(1), { ...first, signature: changed(first.signature) }),
    'SIGNATURE_INVALID',
  ]);
  const [other] = known.filter(({ nodeId }) => nodeId !== id);
  if (other !== undefined) {
    const differs = parties.signedResult({ ...other, chainCode: changed(other.chainCode) });
    const rest = known.filter(({ nodeId }) => nodeId !== other.nodeId);
    found.push(['a result that differs', confirm(...rest, differs), 'TRANSCRIPT_MISMATCH']);
  }
  return found;
}
