import java.io.BufferedInputStream;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.InputStream;
import java.io.OutputStream;
import org.apache.jena.rdfpatch.RDFPatchOps;
import org.apache.jena.riot.Lang;
import org.apache.jena.riot.RDFDataMgr;
import org.apache.jena.riot.RDFParser;
import org.apache.jena.riot.lang.LabelToNode;
import org.apache.jena.sparql.core.DatasetGraph;
import org.apache.jena.sparql.core.DatasetGraphFactory;

/** Applies patches to datasets: of each three arguments, dataset, patch and result. */
public class ApplyPatches {
  public static void main(String[] files) throws Exception {
    for (int first = 0; first < files.length; first += 3) {
      DatasetGraph dataset = DatasetGraphFactory.createTxnMem();
      dataset.begin();
      // As in patches, a label is a name of its blank node.
      RDFParser.source(files[first])
          .lang(Lang.NQUADS)
          .labelToNode(LabelToNode.createUseLabelAsGiven())
          .parse(dataset);
      dataset.commit();
      dataset.end();
      try (InputStream patch = new BufferedInputStream(new FileInputStream(files[first + 1]))) {
        RDFPatchOps.applyChange(dataset, patch);
      }
      try (OutputStream result = new FileOutputStream(files[first + 2])) {
        dataset.executeRead(() -> RDFDataMgr.write(result, dataset, Lang.NQUADS));
      }
    }
  }
}
