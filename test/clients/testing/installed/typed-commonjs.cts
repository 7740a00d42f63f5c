/** Compiled, not run: a CommonJS module of a TypeScript project. */
import testing = require('signmesh/testing');

const made: Promise<testing.TestCluster> = testing.cluster({ nodes: 3 });
export = made;
