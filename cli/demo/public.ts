/** What the command `demo` uses of its parts. */
export { DemoCluster } from './cluster.ts';
export { Diagram, type Row, rowsOf } from './diagram.ts';
