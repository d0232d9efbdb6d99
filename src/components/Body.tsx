import React from 'react';
import { useDoctor } from '../context';
import { TitleBar } from './TitleBar';
import { PostMortem } from './PostMortem';
import { CurrentKernel } from './CurrentKernel';
import { History } from './History';
import { Empty, Failed, Loading } from './Placeholders';
import { ReportActions } from './ReportActions';

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
      {report && (
        <ReportActions key={`${report.recording} actions`} report={report} />
      )}
      {view.kind !== 'loading' && <History shown={report?.recording ?? null} />}
    </>
  );
}
