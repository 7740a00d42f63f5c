/** Compiled, not run: what TypeScript must know of the installed package. */
import { CeremonyFailed, type ClusterOptions, cluster, type Fault, type Key, type TestCluster } from 'signmesh/testing';

const options: ClusterOptions = { nodes: 3 };
const custody: TestCluster = await cluster(options);
const key: Key = await custody.makeKey({ threshold: 2, totalNodes: 3 });
const fault: Fault = { fault: 'bad_partial', target: 'node/2' };
export const triggerCount: number = await (await custody.inject(fault)).triggerCount();
const { signature } = await custody.sign(key, 'hello');
export const bytes: Uint8Array = signature;
export const state: string | undefined = (await custody.session('s'))?.state;
export const codeOf = (error: unknown): string => (error instanceof CeremonyFailed ? error.receipt.reasonCode : '');
// @ts-expect-error There is no such option: the types are not `any`.
await cluster({ colour: 'blue' });
// @ts-expect-error There is no such fault.
await custody.inject({ fault: 'bad_mood', target: 'node/2' });
