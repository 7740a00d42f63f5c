/** The nodes of a ceremony, each with its role: in the list, and in the view of one. */

import { h, type Node } from '../shared/ui.ts';
import type { nodesOf } from './ceremonies.ts';

export function nodeMarks(nodes: ReturnType<typeof nodesOf>): Node {
  if (nodes.length === 0) return '–';
  return h(
    'span',
    { class: 'nodes' },
    ...nodes.map(({ node, role }) =>
      h(
        'span',
        { class: `node-mark ${role.replaceAll(' ', '-')}`, title: `node ${node}: ${role}` },
        node,
        h('span', { class: 'unseen' }, ` ${role} `),
      ),
    ),
  );
}
