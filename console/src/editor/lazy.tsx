/** The parser and writer of YAML, and the editor for it. */
export const loadText = () => import('./definition-text.ts')
export const loadCodeEditor = async () => (await import('./code-editor.tsx')).CodeEditor
