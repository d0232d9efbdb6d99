import React from 'react';
import { useDoctor } from '../context';
import { TitleBar } from './TitleBar';
import { CaseList } from './CaseList';
import { PostMortem } from './PostMortem';
import { CurrentKernel } from './CurrentKernel';
import { Empty, Failed, Loading } from './Placeholders';

/** Shows a post-mortem, or why there is none. */
export function Body(): JSX.Element {
  const { model } = useDoctor();
  const { view } = model;
  const report = view.kind === 'report' ? view.report : null;
  return (
    <>
      <TitleBar />
      {!model.isForeign && <CurrentKernel report={report} />}
      {view.kind === 'loading' && <Loading />}
      {view.kind === 'empty' && <Empty />}
      {view.kind === 'error' && <Failed error={view.error} />}
      {report && <PostMortem key={report.recording} report={report} />}
      {view.kind !== 'loading' && (
        <CaseList shown={report?.recording ?? null} />
      )}
    </>
  );
}
