/** The text editor for YAML, whose parts come when it is first shown. */
import type { YamlEditorProps } from './yaml-editor.tsx'

export async function loadYamlEditor() {
  const [{ yamlText }, { YamlEditor }] = await Promise.all([import('./yaml-text.ts'), import('./yaml-editor.tsx')])
  return (props: Omit<YamlEditorProps, 'language'>) => <YamlEditor {...props} language={yamlText.extension} />
}
