/** Two versions of a definition as one text: lines that went, and lines that came. */
import { unifiedMergeView } from '@codemirror/merge'
import { EditorState } from '@codemirror/state'
import { EditorView } from '@codemirror/view'
import { useEffect, useRef } from 'preact/hooks'
import type { Json } from '../model/read.ts'
import { readExtensions } from './code-mirror.ts'
import { withoutStamps } from './draft.ts'
import { yamlText } from './yaml-text.ts'

export function TextDiff({ before, after, label }: { before: Json; after: Json; label: string }) {
  const holder = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const [original, doc] = [before, after].map((version) => yamlText.write(withoutStamps(version), 'json'))
    const view = new EditorView({
      parent: holder.current as HTMLDivElement,
      doc,
      extensions: [
        ...readExtensions(yamlText.extension, label),
        EditorState.readOnly.of(true),
        EditorView.lineWrapping,
        unifiedMergeView({ original: original ?? '', mergeControls: false, collapseUnchanged: { margin: 3, minSize: 6 } }),
      ],
    })
    return () => view.destroy()
  }, [])
  return <div class="code-box" ref={holder} />
}
