/** Reading and writing YAML, loaded when it is first needed. */

export async function loadYaml() {
  return (await import('./yaml-text.ts')) as Pick<
    typeof import('./yaml-text.ts'),
    'yamlText' | 'writeDocuments' | 'readDocuments'
  >
}
