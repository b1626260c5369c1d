import edu.stanford.nlp.trees.ModCollinsHeadFinder;

/** Head rules of the Penn Treebank; a label that it lacks, such as CRAFT's CIT, is as its X. */
public final class TreebankHeadFinder extends ModCollinsHeadFinder {
  public TreebankHeadFinder() {
    defaultRule = new String[] {"right"};
  }
}
