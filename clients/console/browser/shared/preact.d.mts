export interface VNode {
  readonly type: unknown;
  readonly props: unknown;
  readonly key: unknown;
}
export type Children = VNode | string | number | null | undefined | false | readonly Children[];
export function h(name: string, attributes: Readonly<Record<string, unknown>>, ...children: readonly Children[]): VNode;
/** Makes `into` hold what `node` says, with as few changes as it can. */
export function render(node: VNode, into: unknown): void;
