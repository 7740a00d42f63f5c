/**
 * A ceremony as a sequence diagram for the terminal: a lane each for client, gateway, coordinator and every node; one row a
 * message. Consecutive equal frames to or from several nodes share one row.
 */

/** One frame as the coordinator's log names it. */
export interface Frame {
  readonly from: string;
  readonly to: string;
  readonly case: string;
}

export interface Row {
  /** Lanes: "client", "gateway", "coordinator", "node/1", … */
  readonly from: readonly string[];
  readonly to: readonly string[];
  readonly label: string;
}

const labels: Readonly<Record<string, string>> = {
  dkgOpen: 'deal a polynomial',
  dkgOpened: 'commitments, proof of possession, sealing key (signed)',
  dkgSeal: 'seal your shares for these nodes',
  dkgSealed: 'shares, sealed for each recipient (X25519 + AEAD)',
  dkgVerify: 'verify the shares you received (Feldman)',
  dkgVerified: 'verified; my group key and transcript digest (signed)',
  dkgConfirm: 'the echo: the reports of all nodes',
  dkgConfirmed: 'all equal: my key package is final',
  partialRequest: 'make your partial signature with a nonce made ahead',
  partialReply: 'partial signature',
};

/** Rows of the frames between coordinator and nodes. */
export function rowsOf(frames: readonly Frame[]): Row[] {
  const rows: Row[] = [];
  for (const frame of frames) {
    const from = laneOf(frame.from);
    const to = laneOf(frame.to);
    const last = rows.at(-1);
    const label = labels[frame.case] ?? frame.case;
    if (last?.label === label && last.from[0]?.startsWith('node/') === from.startsWith('node/')) {
      rows[rows.length - 1] = { label, from: merged(last.from, from), to: merged(last.to, to) };
    } else {
      rows.push({ from: [from], to: [to], label });
    }
  }
  return rows;
}

/** "signing/<tenant>/<session>" and the like are actors of the coordinator. */
function laneOf(address: string): string {
  const [role, id] = address.split('/');
  return role === 'node' ? `node/${id}` : 'coordinator';
}

function merged(lanes: readonly string[], lane: string): string[] {
  return [...new Set([...lanes, lane])].sort();
}

const firstColumn = 3;
const roleGap = 11;
const nodeGap = 5;
const lead = ['client', 'gateway', 'coordinator'];

export class Diagram {
  readonly #columns = new Map<string, number>();
  readonly #width: number;
  readonly #nodes: number;

  constructor(nodes: number) {
    this.#nodes = nodes;
    let column = firstColumn;
    for (const lane of lead) {
      this.#columns.set(lane, column);
      column += roleGap;
    }
    for (let id = 1; id <= nodes; id += 1) {
      this.#columns.set(`node/${id}`, column);
      column += nodeGap;
    }
    this.#width = column;
  }

  header(): string {
    const line: string[] = Array.from({ length: this.#width + 2 }, () => ' ');
    const names = [...lead, ...Array.from({ length: this.#nodes }, (_, index) => `n${index + 1}`)];
    for (const [index, [, column]] of [...this.#columns].entries()) {
      const name = names[index]!;
      const at = Math.max(0, column - Math.floor(name.length / 2));
      for (const [offset, letter] of [...name].entries()) line[at + offset] = letter;
    }
    return line.join('').trimEnd();
  }

  row({ from, to, label }: Row): string {
    const line: string[] = Array.from({ length: this.#width }, () => ' ');
    for (const column of this.#columns.values()) line[column] = '│';
    const sources = from.map((lane) => this.#columns.get(lane)!);
    const targets = to.map((lane) => this.#columns.get(lane)!);
    const low = Math.min(...sources, ...targets);
    const high = Math.max(...sources, ...targets);
    for (let column = low + 1; column < high; column += 1) line[column] = line[column] === '│' ? '┼' : '─';
    const rightwards = Math.max(...targets) === high;
    for (const column of sources) line[column] = from.length > 1 ? '●' : rightwards ? '├' : '┤';
    for (const column of targets) line[column] = rightwards ? '▶' : '◀';
    return `${line.join('')} ${label}`;
  }
}
