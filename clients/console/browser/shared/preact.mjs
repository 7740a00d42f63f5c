/** The two functions of Preact that the page uses. Preact's own types would put a browser's globals into every file. */
export { h, render } from 'preact';
