import React, { useState } from 'react';
import { IReport, isRunning } from '../api';
import { useDoctor } from '../context';

/** Offers to pass a report on, to keep it, or to delete it. */
export function ReportActions({ report }: { report: IReport }): JSX.Element {
  const { trans, archive, model } = useDoctor();
  const [said, setSaid] = useState('');
  const attempt = (work: Promise<void>, done: string) => {
    setSaid('');
    work.then(() => setSaid(done)).catch(error => setSaid(String(error)));
  };
  const remove = async () => {
    if (await archive.remove([report])) {
      await model.open(null);
    }
  };
  return (
    <div className="jp-KernelDoctor-actions">
      <button
        type="button"
        className="jp-KernelDoctor-link"
        onClick={() =>
          attempt(archive.copyMarkdown(report), trans.__('Copied.'))
        }
      >
        {trans.__('Copy as Markdown')}
      </button>
      <button
        type="button"
        className="jp-KernelDoctor-link"
        onClick={() => attempt(archive.saveHtml(report), trans.__('Saved.'))}
      >
        {trans.__('Save as HTML')}
      </button>
      {!isRunning(report) && (
        <button
          type="button"
          className="jp-KernelDoctor-link"
          onClick={() => void remove()}
        >
          {trans.__('Delete')}
        </button>
      )}
      <span role="status">{said}</span>
    </div>
  );
}
