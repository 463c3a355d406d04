/** Two versions of a definition as text: side by side, one below the other on a narrow screen. */
import { MergeView, unifiedMergeView } from '@codemirror/merge'
import { EditorState } from '@codemirror/state'
import { EditorView } from '@codemirror/view'
import { useEffect, useRef } from 'preact/hooks'
import type { Json } from '../model/read.ts'
import { readExtensions } from './code-mirror.ts'
import { withoutStamps } from './draft.ts'
import { jsonText } from './json-text.ts'

/** Side by side where there is room. */
const wideQuery = '(min-width: 56.25em)'

interface TextDiffProps {
  readonly before: Json
  readonly after: Json
  readonly labels: { readonly before: string; readonly after: string }
}

export function TextDiff({ before, after, labels }: TextDiffProps) {
  const holder = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const [left, right] = [jsonText.write(withoutStamps(before)), jsonText.write(withoutStamps(after))]
    const parent = holder.current as HTMLDivElement
    const fixed = [EditorState.readOnly.of(true), EditorView.lineWrapping]
    const collapseUnchanged = { margin: 3, minSize: 6 }
    if (matchMedia(wideQuery).matches) {
      const view = new MergeView({
        parent,
        a: { doc: left, extensions: [...readExtensions(jsonText.extension, labels.before), ...fixed] },
        b: { doc: right, extensions: [...readExtensions(jsonText.extension, labels.after), ...fixed] },
        collapseUnchanged,
      })
      return () => view.destroy()
    }
    const unified = unifiedMergeView({ original: left, mergeControls: false, collapseUnchanged })
    const view = new EditorView({
      parent,
      doc: right,
      extensions: [...readExtensions(jsonText.extension, `${labels.before}, ${labels.after}`), ...fixed, unified],
    })
    return () => view.destroy()
  }, [])
  return (
    <>
      <p class="diff-labels muted">
        <span>
          <span aria-hidden="true">− </span>
          {labels.before}
        </span>
        <span>
          <span aria-hidden="true">+ </span>
          {labels.after}
        </span>
      </p>
      <div class="code-box" ref={holder} />
    </>
  )
}
