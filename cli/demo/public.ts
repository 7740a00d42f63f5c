/** The parts that the command `demo` uses. */
export { DemoCluster } from './cluster.ts';
export { Diagram, type Row, rowsOf } from './diagram.ts';
