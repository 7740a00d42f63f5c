/** The kinds of transactions that a rule names: the texts that it compares `tx.kind` with, by `==` from either side or by `in`. Pure. */
import type { ASTNode } from '@marcbachmann/cel-js';
import { fieldOf, partsOf } from './state-reads.ts';

export function kindsOf(root: ASTNode): ReadonlySet<string> {
  const kinds = new Set<string>();
  collect(root, kinds);
  return kinds;
}

function collect(node: ASTNode, kinds: Set<string>): void {
  if (node.op === '==' || node.op === 'in') {
    const [left, right] = node.args;
    const named =
      fieldOf(left) === 'tx.kind' ? right : node.op === '==' && fieldOf(right) === 'tx.kind' ? left : undefined;
    for (const one of named?.op === 'list' ? named.args : [named]) {
      if (one?.op === 'value' && typeof one.args === 'string') kinds.add(one.args);
    }
  }
  for (const part of partsOf(node)) collect(part, kinds);
}
